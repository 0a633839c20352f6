"""What tests share: generators of problems and plans, faults to plant, and slow, obviously correct references."""
