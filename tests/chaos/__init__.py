"""The laws over whole programs: plans that are read on, whoever is killed, stopped or late."""
