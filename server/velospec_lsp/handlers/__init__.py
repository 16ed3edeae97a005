"""One file per group of protocol methods: parse, call, convert. The protocol's types stay in here."""
