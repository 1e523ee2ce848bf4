"""Scores: frame labels at native times, matching, the four protocols, the order of the key steps."""
