fever | -144
red eyes without discharge | -96
rash over the trunk | -144
amoxicillin started | -48
no cough | 0
C-reactive protein 164 mg/L | 0
no coronary artery dilatation on the echocardiogram | 12
pericardial effusion on the echocardiogram | 12
intravenous immunoglobulin 2 g/kg | 14
second immunoglobulin infusion 2 g/kg | 66
aspirin reduced to 5 mg/kg once daily | 120
peeling of the fingertips | 336
seen by a dietitian | 120
discharged home | 192
dilatation of 3.1 mm in the left anterior descending artery | 336
aspirin stopped | 1344
