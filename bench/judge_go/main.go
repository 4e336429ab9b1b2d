// Command judge_go writes what the Go type checker says each identifier of a repository means.
//
//	go run . REPOSITORY OUT.jsonl
//
// One line per identifier that resolves to a declaration inside the repository:
// {"path", "start", "name", "kind", "defs": [{"path", "start"}]}, offsets in bytes. The kind is "attribute" for what
// stands after a dot or names a field in a literal, "package" for the name of an import (its definition is the start of
// the import), "label" for labels and "name" for the rest. Tests are read as well; a file that belongs to several
// packages gives the union of what it means in each. Only files that the current platform builds are read.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/tools/go/packages"
)

type place struct {
	Path  string `json:"path"`
	Start int    `json:"start"`
}

type answer struct {
	place
	Name string  `json:"name"`
	Kind string  `json:"kind"`
	Defs []place `json:"defs"`
}

type judge struct {
	root    string
	answers map[place]*answer
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: judge_go REPOSITORY OUT.jsonl")
	}
	root, err := filepath.Abs(os.Args[1])
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		log.Fatal(err)
	}
	j := &judge{root: root, answers: map[place]*answer{}}
	for _, directory := range modules(root) {
		j.readModule(directory)
	}
	if err := j.write(os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// modules returns the directories that have a go.mod.
func modules(root string) []string {
	var found []string
	walk := func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if entry.IsDir() && (entry.Name() == "vendor" || entry.Name() == "testdata" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if entry.Name() == "go.mod" {
			found = append(found, filepath.Dir(path))
		}
		return nil
	}
	if err := filepath.WalkDir(root, walk); err != nil {
		log.Fatal(err)
	}
	return found
}

func (j *judge) readModule(directory string) {
	fset := token.NewFileSet()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir:   directory,
		Fset:  fset,
		Tests: true,
	}, "./...")
	if err != nil {
		log.Printf("%s: %v", directory, err)
		return
	}
	nErrors := 0
	for _, loadedPackage := range loaded {
		nErrors += len(loadedPackage.Errors)
		for _, file := range loadedPackage.Syntax {
			j.readFile(fset, file, loadedPackage.TypesInfo)
		}
	}
	log.Printf("%s: %d packages, %d errors", directory, len(loaded), nErrors)
}

func (j *judge) readFile(fset *token.FileSet, file *ast.File, info *types.Info) {
	if _, ok := j.placeOf(fset, file.Package); !ok {
		return
	}
	attributes := map[*ast.Ident]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			attributes[node.Sel] = true
		case *ast.KeyValueExpr:
			if key, ok := node.Key.(*ast.Ident); ok {
				if field, ok := info.Uses[key].(*types.Var); ok && field.IsField() {
					attributes[key] = true
				}
			}
		case *ast.Ident:
			if object := info.Uses[node]; object != nil && node.Name != "_" {
				j.add(fset, node, object, attributes[node])
			}
		}
		return true
	})
}

func (j *judge) add(fset *token.FileSet, identifier *ast.Ident, object types.Object, isAttribute bool) {
	use, ok := j.placeOf(fset, identifier.Pos())
	if !ok {
		return
	}
	kind := "name"
	switch object := object.(type) {
	case *types.PkgName:
		kind = "package"
	case *types.Label:
		kind = "label"
	default:
		_ = object
		if isAttribute {
			kind = "attribute"
		}
	}
	definition, ok := j.placeOf(fset, object.Pos())
	if !ok {
		return
	}
	known := j.answers[use]
	if known == nil {
		known = &answer{place: use, Name: identifier.Name, Kind: kind}
		j.answers[use] = known
	}
	for _, one := range known.Defs {
		if one == definition {
			return
		}
	}
	known.Defs = append(known.Defs, definition)
}

// placeOf returns a position as a path inside the repository and an offset, false when it is not inside.
func (j *judge) placeOf(fset *token.FileSet, position token.Pos) (place, bool) {
	if !position.IsValid() {
		return place{}, false
	}
	found := fset.PositionFor(position, false)
	relative, err := filepath.Rel(j.root, found.Filename)
	if err != nil || strings.HasPrefix(relative, "..") {
		return place{}, false
	}
	return place{filepath.ToSlash(relative), found.Offset}, true
}

func (j *judge) write(path string) error {
	answers := make([]*answer, 0, len(j.answers))
	for _, one := range j.answers {
		answers = append(answers, one)
	}
	sort.Slice(answers, func(a, b int) bool {
		if answers[a].Path != answers[b].Path {
			return answers[a].Path < answers[b].Path
		}
		return answers[a].Start < answers[b].Start
	})
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	writer := bufio.NewWriter(file)
	encoder := json.NewEncoder(writer)
	for _, one := range answers {
		if err := encoder.Encode(one); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	if err := writer.Flush(); err != nil {
		return err
	}
	return file.Close()
}
