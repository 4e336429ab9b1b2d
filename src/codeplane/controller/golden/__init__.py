"""Golden tasks: scripted runs of the controller with the states, codes and files that must come of them."""
