glycated haemoglobin 8.1% | -336
burning on passing urine | -120
insulin pump alarm for a blocked line | -168
nausea | -24
vomiting | -24
no chest pain | 0
capillary glucose 27 mmol/L | 0
venous pH 7.08 | 0
no consolidation on chest radiograph | 0
ceftriaxone 2 g once daily started | 1
hypoglycaemia with glucose 2.9 mmol/L | 30
switched to basal-bolus insulin | 36
urine culture grew Escherichia coli | 48
no hydronephrosis on renal ultrasound | 72
second episode of hypoglycaemia with glucose 3.1 mmol/L | 96
discharged home | 240
sterile urine culture at the clinic visit | 504
