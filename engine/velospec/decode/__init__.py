"""From prompt ids to a completion: KV slots, the loop, stop rules, detokenizing."""
