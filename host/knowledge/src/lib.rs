//! The knowledge base: `knowledge/<name>/content.md`, cut up and indexed, apart from the memory.
