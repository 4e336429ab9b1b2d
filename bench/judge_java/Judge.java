import com.sun.source.tree.ArrayTypeTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.ImportTree;
import com.sun.source.tree.MemberReferenceTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.TypeParameterTree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.TypeElement;
import javax.lang.model.element.TypeParameterElement;
import javax.lang.model.type.DeclaredType;
import javax.lang.model.type.TypeMirror;
import javax.lang.model.util.ElementFilter;
import javax.lang.model.util.Elements;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Writes what the Java compiler says each identifier of a repository means.
 *
 * <pre>java Judge.java REPOSITORY OUT.jsonl [CLASSPATH [--families]]</pre>
 *
 * <p>One line per identifier that resolves to a declaration inside the repository: {"path", "start", "name", "kind",
 * "defs": [{"path", "start"}]}, offsets in bytes. The kind is "attribute" for what stands after a dot or {@code ::} and
 * "name" for the rest. All files are compiled together; what needs libraries that are not on the class path stays open.
 * With {@code --families} constructors are uses of their class, static imports of the members they name, and each method that overrides another has a line of the
 * kind "family" with that other one.
 */
public final class Judge {
    private final Path root;
    private final Map<String, Source> sources = new HashMap<>();
    private final TreeMap<String, TreeMap<Integer, String>> answers = new TreeMap<>();
    private boolean wantsFamilies;
    private Elements elements;
    private Trees trees;
    private SourcePositions positions;

    private Judge(Path root) {
        this.root = root;
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length < 2) {
            System.err.println("usage: java Judge.java REPOSITORY OUT.jsonl [CLASSPATH [--families]]");
            System.exit(2);
        }
        Judge judge = new Judge(Path.of(arguments[0]).toRealPath());
        judge.wantsFamilies = List.of(arguments).contains("--families");
        judge.read(arguments.length > 2 ? arguments[2] : "");
        judge.write(Path.of(arguments[1]));
    }

    private void read(String classPath) throws IOException {
        List<Path> files;
        try (Stream<Path> found = Files.walk(root)) {
            files = found.filter(path -> path.toString().endsWith(".java") && Files.isRegularFile(path))
                    .filter(path -> !path.endsWith("module-info.java")).sorted().toList();
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> problems = new DiagnosticCollector<>();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(problems, null, StandardCharsets.UTF_8)) {
            List<String> options = List.of("-proc:none", "-Xmaxerrs", "1000000", "-nowarn", "-classpath", classPath);
            JavacTask task = (JavacTask) compiler.getTask(
                    null, manager, problems, options, null, manager.getJavaFileObjectsFromPaths(files));
            trees = Trees.instance(task);
            positions = trees.getSourcePositions();
            elements = task.getElements();
            List<CompilationUnitTree> units = new ArrayList<>();
            task.parse().forEach(units::add);
            try {
                task.analyze();
            } catch (RuntimeException error) {
                System.err.println("the compiler gave up: " + error);
            }
            for (CompilationUnitTree unit : units) {
                new Reader(unit).scan(unit, null);
            }
        }
        long nErrors = problems.getDiagnostics().stream().filter(one -> one.getKind() == Diagnostic.Kind.ERROR).count();
        System.err.println(files.size() + " files, " + nErrors + " errors");
    }

    private void write(Path out) throws IOException {
        try (PrintWriter writer = new PrintWriter(Files.newBufferedWriter(out))) {
            answers.values().forEach(lines -> lines.values().forEach(writer::println));
        }
    }

    /** A file and the byte offsets of its characters. */
    private static final class Source {
        final String path;
        final String text;
        final int[] bytes;

        Source(String path, String text) {
            this.path = path;
            this.text = text;
            bytes = new int[text.length() + 1];
            int offset = 0;
            for (int i = 0; i < text.length(); i++) {
                bytes[i] = offset;
                char one = text.charAt(i);
                offset += one < 0x80 ? 1 : one < 0x800 ? 2 : Character.isSurrogate(one) ? 2 : 3;
            }
            bytes[text.length()] = offset;
        }
    }

    private Source sourceOf(JavaFileObject file) {
        URI uri = file.toUri();
        return sources.computeIfAbsent(uri.toString(), key -> {
            try {
                Path path = Path.of(uri).toRealPath();
                String text = Files.readString(path, StandardCharsets.UTF_8);
                return new Source(root.relativize(path).toString().replace('\\', '/'), text);
            } catch (IOException | RuntimeException error) {
                return null;
            }
        });
    }

    /** Returns where the name of a declaration stands as JSON, null when it is not inside the repository. */
    private String placeOf(Element element) {
        if (element instanceof TypeParameterElement parameter) {
            return placeOfTypeParameter(parameter);
        }
        TreePath path = trees.getPath(element);
        if (path == null) {
            return null;
        }
        CompilationUnitTree unit = path.getCompilationUnit();
        Source source = sourceOf(unit.getSourceFile());
        Tree tree = path.getLeaf();
        if (source == null) {
            return null;
        }
        int start = (int) positions.getStartPosition(unit, tree);
        String name;
        if (tree instanceof ClassTree type) {
            name = type.getSimpleName().toString();
            start = afterKeyword(source.text, start, name);
        } else if (tree instanceof MethodTree method) {
            name = method.getName().toString();
            if (name.equals("<init>")) {
                name = element.getEnclosingElement().getSimpleName().toString();
            }
            Tree type = method.getReturnType();
            long end = type == null ? -1 : positions.getEndPosition(unit, type);
            start = find(source.text, Math.max(start, (int) end), name, "\\s*(?:\\(|\\{)");
        } else if (tree instanceof VariableTree variable) {
            name = variable.getName().toString();
            Tree type = variable.getType();
            while (type instanceof ArrayTypeTree array) {
                // The brackets may stand after the name.
                type = array.getType();
            }
            long end = type == null ? -1 : positions.getEndPosition(unit, type);
            boolean isConstant = element.getKind() == ElementKind.ENUM_CONSTANT;
            start = find(source.text, isConstant ? start : Math.max(start, (int) end), name, "");
        } else {
            return null;
        }
        if (start < 0 || name.isEmpty()) {
            return null;
        }
        return "{\"path\": \"" + source.path + "\", \"start\": " + source.bytes[start] + "}";
    }

    private String placeOfTypeParameter(TypeParameterElement parameter) {
        TreePath path = trees.getPath(parameter.getGenericElement());
        if (path == null) {
            return null;
        }
        CompilationUnitTree unit = path.getCompilationUnit();
        Source source = sourceOf(unit.getSourceFile());
        List<? extends TypeParameterTree> declared = List.of();
        if (path.getLeaf() instanceof ClassTree type) {
            declared = type.getTypeParameters();
        } else if (path.getLeaf() instanceof MethodTree method) {
            declared = method.getTypeParameters();
        }
        for (TypeParameterTree one : declared) {
            if (source != null && one.getName().contentEquals(parameter.getSimpleName())) {
                int start = find(source.text, (int) positions.getStartPosition(unit, one), one.getName().toString(), "");
                return start < 0 ? null : "{\"path\": \"" + source.path + "\", \"start\": " + source.bytes[start] + "}";
            }
        }
        return null;
    }

    private static int afterKeyword(String text, int start, String name) {
        Matcher found = Pattern.compile("\\b(?:class|interface|enum|record)\\s+(?:/\\*.*?\\*/\\s*)?(" + Pattern.quote(name) + ")\\b")
                .matcher(text);
        return start >= 0 && found.find(start) ? found.start(1) : -1;
    }

    private static int find(String text, int start, String name, String after) {
        Matcher found = Pattern.compile("(?<![\\w$])(" + Pattern.quote(name) + ")(?![\\w$])" + after).matcher(text);
        return start >= 0 && found.find(start) ? found.start(1) : -1;
    }

    private final class Reader extends TreePathScanner<Void, Void> {
        private final CompilationUnitTree unit;
        private final Source source;

        Reader(CompilationUnitTree unit) {
            this.unit = unit;
            this.source = sourceOf(unit.getSourceFile());
        }

        @Override
        public Void visitIdentifier(IdentifierTree tree, Void nothing) {
            String name = tree.getName().toString();
            if (!name.equals("this") && !name.equals("super")) {
                add((int) positions.getStartPosition(unit, tree), name, "name");
            }
            return super.visitIdentifier(tree, nothing);
        }

        @Override
        public Void visitMemberSelect(MemberSelectTree tree, Void nothing) {
            String name = tree.getIdentifier().toString();
            int end = (int) positions.getEndPosition(unit, tree);
            if (!name.equals("this") && !name.equals("super") && !name.equals("class") && !name.equals("*")) {
                add(end - name.length(), name, "attribute");
            }
            return super.visitMemberSelect(tree, nothing);
        }

        @Override
        public Void visitMemberReference(MemberReferenceTree tree, Void nothing) {
            String name = tree.getName().toString();
            int end = (int) positions.getEndPosition(unit, tree);
            if (tree.getMode() == MemberReferenceTree.ReferenceMode.INVOKE) {
                add(end - name.length(), name, "attribute");
            }
            return super.visitMemberReference(tree, nothing);
        }

        @Override
        public Void visitClass(ClassTree tree, Void nothing) {
            if (wantsFamilies && trees.getElement(getCurrentPath()) instanceof TypeElement type) {
                List<ExecutableElement> methods = ElementFilter.methodsIn(elements.getAllMembers(type));
                for (TypeElement base : basesOf(type, new ArrayList<>())) {
                    for (ExecutableElement method : methods) {
                        for (ExecutableElement other : ElementFilter.methodsIn(base.getEnclosedElements())) {
                            if (elements.overrides(method, other, type)) {
                                write(placeOf(method), method.getSimpleName().toString(), "family", placeOf(other));
                            }
                        }
                    }
                }
                for (ExecutableElement one : ElementFilter.constructorsIn(type.getEnclosedElements())) {
                    if (elements.getOrigin(one) == Elements.Origin.EXPLICIT) {
                        write(placeOf(one), type.getSimpleName().toString(), "name", placeOf(type));
                    }
                }
            }
            return super.visitClass(tree, nothing);
        }

        @Override
        public Void visitImport(ImportTree tree, Void nothing) {
            // A static import names all members of that name; the compiler gives it no element.
            if (wantsFamilies && tree.isStatic() && tree.getQualifiedIdentifier() instanceof MemberSelectTree select
                    && trees.getElement(new TreePath(new TreePath(getCurrentPath(), select), select.getExpression()))
                            instanceof TypeElement type) {
                String name = select.getIdentifier().toString();
                int start = (int) positions.getEndPosition(unit, select) - name.length();
                String here = "{\"path\": \"" + source.path + "\", \"start\": " + source.bytes[start] + "}";
                for (Element member : elements.getAllMembers(type)) {
                    if (member.getSimpleName().contentEquals(name)) {
                        write(here, name, "name", placeOf(member));
                    }
                }
            }
            return super.visitImport(tree, nothing);
        }

        private List<TypeElement> basesOf(TypeElement type, List<TypeElement> found) {
            List<TypeMirror> above = new ArrayList<>(type.getInterfaces());
            above.add(type.getSuperclass());
            for (TypeMirror one : above) {
                if (one instanceof DeclaredType declared && declared.asElement() instanceof TypeElement base) {
                    found.add(base);
                    basesOf(base, found);
                }
            }
            return found;
        }

        private void write(String place, String name, String kind, String meant) {
            if (place == null || meant == null) {
                return;
            }
            String line = place.substring(0, place.length() - 1) + ", \"name\": \"" + name + "\", \"kind\": \"" + kind
                    + "\", \"defs\": [" + meant + "]}";
            answers.computeIfAbsent("", key -> new TreeMap<>()).put(answers.get("").size(), line);
        }

        private void add(int start, String name, String kind) {
            Element element = trees.getElement(getCurrentPath());
            if (element == null || source == null || start < 0 || !source.text.startsWith(name, start)) {
                return;
            }
            if (element.getKind() == ElementKind.CONSTRUCTOR) {
                return;
            }
            String place = placeOf(element);
            if (place == null) {
                return;
            }
            int offset = source.bytes[start];
            answers.computeIfAbsent(source.path, key -> new TreeMap<>()).putIfAbsent(offset,
                    "{\"path\": \"" + source.path + "\", \"start\": " + offset + ", \"name\": \"" + name + "\", \"kind\": \""
                            + kind + "\", \"defs\": [" + place + "]}");
        }
    }
}
