"""How does one begin? Plug-ins that work, with their tests: `tpstream new` copies them under another name."""
