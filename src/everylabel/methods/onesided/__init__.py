"""OF-DE and OF-LAN: one-sided fine-tuning, and what it is compared with."""
