"""Beside this file lie helper modules; it makes pytest put their folder on the module path."""
