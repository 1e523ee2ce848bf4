"""What runs cost: the resources that jobs ask for (`needs`) and the cost of a whole study (`estimate`)."""
