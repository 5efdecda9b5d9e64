"""What input libraries do when 8 ranks save and 6 go on: ``python benchmarks/elastic``.

asking.py      the question, and how an answer is counted
headrace_.py   headrace
torch_.py      torch's DataLoader as torchdata makes it stateful
nodes.py       torchdata.nodes
grain_.py      Grain
datasets_.py   Hugging Face datasets
__main__.py    asks each that is installed
"""
