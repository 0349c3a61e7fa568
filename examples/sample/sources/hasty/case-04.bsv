sore throat and runny nose | -288
chest pain worse when lying flat | -72
breathlessness on climbing stairs | -24
no leg swelling | 0
widespread ST elevation on the electrocardiogram | 0
C-reactive protein 96 mg/L | 0
ibuprofen 600 mg three times daily started | 4
colchicine 0.5 mg twice daily started | 4
pericardial effusion of 8 mm | 6
no pulmonary embolism on CT of the chest | 10
atrial fibrillation | 48
atrial fibrillation | 48
sinus rhythm restored | 72
discharged home | 120
colchicine stopped by the patient | 336
recurrent chest pain | 840
C-reactive protein below 5 mg/L | 2016
