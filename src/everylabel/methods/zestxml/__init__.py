"""ZestXML: words of documents that go with words of labels."""
