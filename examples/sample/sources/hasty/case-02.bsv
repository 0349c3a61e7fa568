headache | -192
confusion | -48
generalised tonic-clonic seizure | -1
no previous epilepsy | 0
no haemorrhage on CT of the head | 0
lumbar puncture with 86 white cells per microlitre | 2
aciclovir 10 mg/kg every eight hours started | 3
HSV type 1 PCR positive | 36
MRI with swelling of the left temporal lobe | 72
second generalised seizure | 96
levetiracetam increased to 1,000 mg twice daily | 96
creatinine 1.9 mg/dL | 168
repeat lumbar puncture with negative HSV PCR | 336
transferred to rehabilitation | 552
