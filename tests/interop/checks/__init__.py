"""The checks, one module for each thing that clients do; suite.py puts them together."""
