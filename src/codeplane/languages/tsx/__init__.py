"""TypeScript with JSX; everything it does is in the package `javascript`, which reads all three grammars."""
