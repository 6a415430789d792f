"""MatchXML and XR-Transformer: an encoder fine-tuned down a tree of labels."""
