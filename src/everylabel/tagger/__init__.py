"""The tagger: several fitted methods as one. Import from the modules."""
