"""Each rule is one file in the folder of its family; no other code names it."""
