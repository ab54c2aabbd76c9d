"""Templates of plug-ins and of their tests; `tpstream new` copies them under another name. They work as they are."""
