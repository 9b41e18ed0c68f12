// Who uses what, by go/types: each line [path, line, column] of standard input names an object, and is answered by all
// places of it. A use of a method of an interface counts as one of those that implement it, and the other way round.
//
//	go run bench/truth/uses.go PROJECT
package main

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

type place struct {
	path         string
	line, column int
}

type checker struct {
	root, module string
	fset         *token.FileSet
	library      types.Importer
	files        map[string]*ast.File
	known        map[string]*types.Package
	uses         map[token.Pos]map[token.Pos]bool // by the position of the definition
	defined      map[place]token.Pos
	named        map[*types.TypeName]bool
	related      map[token.Pos][]token.Pos
}

func main() {
	root, _ := filepath.Abs(os.Args[1])
	build.Default.CgoEnabled = false
	text, _ := os.ReadFile(filepath.Join(root, "go.mod"))
	fset := token.NewFileSet()
	module := string(regexp.MustCompile(`(?m)^module\s+(\S+)`).FindSubmatch(text)[1])
	c := &checker{root, module, fset, importer.ForCompiler(fset, "source", nil), map[string]*ast.File{},
		map[string]*types.Package{}, map[token.Pos]map[token.Pos]bool{}, map[place]token.Pos{},
		map[*types.TypeName]bool{}, map[token.Pos][]token.Pos{}}
	filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		_, inner := os.Stat(filepath.Join(dir, "go.mod"))
		if dir != root && (inner == nil || strings.ContainsAny(entry.Name()[:1], "._") || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		c.folder(dir)
		return nil
	})
	c.relate()
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var asked place
		json.Unmarshal(lines.Bytes(), &[]any{&asked.path, &asked.line, &asked.column})
		var found [][]any
		for _, of := range append(c.related[c.defined[asked]], c.defined[asked]) {
			for at := range c.uses[of] {
				one := c.place(at)
				if at == of && of != c.defined[asked] {
					continue
				}
				found = append(found, []any{one.path, one.line, one.column})
			}
		}
		out.Encode(found)
	}
}

// Import gives a package of the module, checked once without its tests, or one of the standard library.
func (c *checker) Import(name string) (*types.Package, error) {
	if name != c.module && !strings.HasPrefix(name, c.module+"/") {
		return c.library.Import(name)
	}
	if c.known[name] == nil {
		dir := filepath.Join(c.root, strings.TrimPrefix(name, c.module))
		found, err := build.ImportDir(dir, 0)
		if err != nil {
			return nil, err
		}
		c.known[name] = c.check(name, dir, found.GoFiles, c)
	}
	return c.known[name], nil
}

type tested struct {
	*checker
	name    string
	variant *types.Package
}

func (t tested) Import(name string) (*types.Package, error) {
	if name == t.name {
		return t.variant, nil
	}
	return t.checker.Import(name)
}

// folder checks the package of a folder, that with its tests, and that of its outer tests.
func (c *checker) folder(dir string) {
	found, err := build.ImportDir(dir, 0)
	if err != nil {
		return
	}
	inside, _ := filepath.Rel(c.root, dir)
	name := path.Join(c.module, filepath.ToSlash(inside))
	c.Import(name)
	variant := c.check(name, dir, append(found.GoFiles, found.TestGoFiles...), c)
	c.check(name+"_test", dir, found.XTestGoFiles, tested{c, name, variant})
}

func (c *checker) check(name, dir string, names []string, from types.Importer) *types.Package {
	var files []*ast.File
	for _, one := range names {
		whole := filepath.Join(dir, one)
		if c.files[whole] == nil {
			c.files[whole], _ = parser.ParseFile(c.fset, whole, nil, parser.SkipObjectResolution)
		}
		files = append(files, c.files[whole])
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	settings := types.Config{Importer: from, Error: func(error) {}}
	made, _ := settings.Check(name, c.fset, files, info)
	for _, named := range []map[*ast.Ident]types.Object{info.Defs, info.Uses} {
		for ident, object := range named {
			if object == nil || !object.Pos().IsValid() {
				continue
			}
			if c.uses[object.Pos()] == nil {
				c.uses[object.Pos()] = map[token.Pos]bool{}
			}
			c.uses[object.Pos()][ident.Pos()] = true
			if ident.Pos() == object.Pos() {
				c.defined[c.place(ident.Pos())] = object.Pos()
			}
			if name, ok := object.(*types.TypeName); ok {
				c.named[name] = true
			}
		}
	}
	return made
}

// relate links the methods of interfaces with those that implement them.
func (c *checker) relate() {
	for name := range c.named {
		general, ok := name.Type().Underlying().(*types.Interface)
		if !ok || general.NumMethods() == 0 || !strings.HasPrefix(c.fset.Position(name.Pos()).Filename, c.root) {
			continue
		}
		for other := range c.named {
			if types.IsInterface(other.Type()) || !types.Implements(types.NewPointer(other.Type()), general) {
				continue
			}
			for at := range general.NumMethods() {
				method := general.Method(at)
				found, _, _ := types.LookupFieldOrMethod(types.NewPointer(other.Type()), true, method.Pkg(), method.Name())
				c.related[method.Pos()] = append(c.related[method.Pos()], found.Pos())
				c.related[found.Pos()] = append(c.related[found.Pos()], method.Pos())
			}
		}
	}
}

func (c *checker) place(at token.Pos) place {
	spot := c.fset.Position(at)
	inside, _ := filepath.Rel(c.root, spot.Filename)
	return place{filepath.ToSlash(inside), spot.Line, spot.Column}
}
