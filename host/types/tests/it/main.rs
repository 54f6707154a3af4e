mod fit;
mod tokens;
