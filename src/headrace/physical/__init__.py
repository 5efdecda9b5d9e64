"""How a plan runs: blocks of elements, the stages that make them, and where in the data each block stands."""
