"""AttentionXML: each label looks at the words of a document that matter to it."""
