stopped antimalarial tablets | -504
flew home from fieldwork | -216
fever with shaking chills | -144
jaundice | -144
no cough | 0
temperature 39.6 °C | 0
spleen palpable 3 cm below the costal margin | 0
haemoglobin 9.8 g/dL and platelets 61 thousand per microlitre | 0
creatinine 312 µmol/L | 0
blood film with Plasmodium vivax | 0
first dose of chloroquine 600 mg | 2
fever settled | 48
primaquine 30 mg daily started | 72
discharged home | 120
fever again with Plasmodium vivax on the blood film | 1344
negative blood film | 2016
