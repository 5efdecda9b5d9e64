"""Pages to read and to send on: one HTML file that needs nothing beside itself, all in one look.

The parts, from the bottom up: ``wording`` writes numbers in sentences; ``machine`` is what figures were measured on; ``parts`` are the
pieces of a page; ``stairs`` draws shares over time; ``document`` makes a page of them; ``writing`` puts it where it belongs.
"""
