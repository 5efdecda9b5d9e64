"""Small plans of one form, made together: what they have in common, operation by operation, and the plans themselves."""
