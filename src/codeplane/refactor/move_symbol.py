def move_symbol(reader, path, name, to_path): raise NotImplementedError
