"""What was typed? The command line: parse, call, print; heavy imports wait for the command that needs them."""
