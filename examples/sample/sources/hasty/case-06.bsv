naproxen 500 mg twice daily started | -672
upper abdominal discomfort | -96
black stools | -48
coffee-ground vomiting | -3
no weight loss | 0
blood pressure 92/54 mmHg | 0
haemoglobin 7.4 g/dL | 0
two units of red cells transfused | 2
endoscopy with a duodenal ulcer of 15 mm | 9
no varices at endoscopy | 9
Helicobacter pylori stool antigen positive | 48
black stools again | 72
second endoscopy with a new clip | 76
eradication treatment started | 120
discharged home | 192
breath test negative for Helicobacter pylori | 1680
