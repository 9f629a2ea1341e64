package postgres_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/assert/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/tools/go/packages"

	"github.com/looptrace/looptrace/test/engines"
)

// TestStatements prepares each statement of each subject on PostgreSQL, and compares its parameters and columns with the Go code that
// runs it: their names and their types. It fails for a statement that nothing runs, for one that does not exist, for an argument that no
// statement has, and for a parameter that gets none, which would be NULL.
func TestStatements(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), engines.Postgres(t))
	assert.NoError(t, err)
	defer conn.Close(t.Context())
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Dir:  "../..",
	}, "./controlplane/...", "./components/...")
	assert.NoError(t, err)
	assert.Zero(t, packages.PrintErrors(loaded))
	named := namedByFields(loaded)
	checked := 0
	for _, p := range loaded {
		c := &statementChecker{t: t, p: p, named: named, statements: map[string]*prepared{}, keys: map[string]token.Pos{}, given: map[string]bool{}}
		if c.read(conn) {
			c.check()
			checked += len(c.statements)
		}
	}
	assert.True(t, checked > 300, "%d statements", checked)
}

// prepared is a statement as PostgreSQL understands it.
type prepared struct {
	params  map[string]uint32
	columns map[string]uint32
	used    bool
}

// statementChecker checks the statements of a package.
type statementChecker struct {
	t          *testing.T
	p          *packages.Package
	statements map[string]*prepared
	// named has the calls that run a statement that a field of a struct names, by the field.
	named map[*types.Var]fieldCall
	// keys are the names of arguments in the package, and of those that others give its statements.
	keys map[string]token.Pos
	// given are the names of arguments that a statement has.
	given map[string]bool
}

// fieldCall is a call that runs a statement that a field names.
type fieldCall struct {
	args map[string]types.Type
	row  types.Type // nil if none is read
}

// namedByFields returns the calls that run a statement that a field names, such as the one of a kind of work.
func namedByFields(loaded []*packages.Package) map[*types.Var]fieldCall {
	found := map[*types.Var]fieldCall{}
	for _, p := range loaded {
		c := &statementChecker{p: p}
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				callee, row := c.callee(call)
				if !isOfPostgres(callee) {
					return true
				}
				for i, arg := range call.Args {
					if field := c.field(arg); field != nil && i+1 < len(call.Args) && isNamedArgs(p.TypesInfo.TypeOf(call.Args[i+1])) {
						found[field] = fieldCall{c.args(call.Args[i+1], nil, 0), row}
					}
				}
				return true
			})
		}
	}
	return found
}

// field returns the field of a struct that an expression reads, or nil.
func (c *statementChecker) field(e ast.Expr) *types.Var {
	if selector, ok := e.(*ast.SelectorExpr); ok {
		if selection := c.p.TypesInfo.Selections[selector]; selection != nil && selection.Kind() == types.FieldVal {
			return selection.Obj().(*types.Var)
		}
	}
	return nil
}

func isOfPostgres(callee types.Object) bool {
	return callee.Pkg() != nil && callee.Pkg().Path() == "github.com/looptrace/looptrace/internal/postgres"
}

var parameter = regexp.MustCompile(`@([A-Za-z_]\w*)`)

// read prepares the statements in the .sql files of the package. It reports whether there are any.
func (c *statementChecker) read(conn *pgx.Conn) bool {
	if len(c.p.GoFiles) == 0 {
		return false
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(c.p.GoFiles[0]), "*.sql"))
	assert.NoError(c.t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.NoError(c.t, err)
		for _, part := range strings.Split(string(text), "-- name: ")[1:] {
			name, statement, _ := strings.Cut(part, "\n")
			names := pgx.NamedArgs{}
			for _, match := range parameter.FindAllStringSubmatch(statement, -1) {
				names[match[1]] = match[1]
			}
			if strings.HasPrefix(statement, "CREATE TEMPORARY TABLE") { // others read it
				_, err := conn.Exec(c.t.Context(), strings.Replace(statement, "ON COMMIT DROP", "", 1))
				assert.NoError(c.t, err, name)
			}
			sql, order, err := names.RewriteQuery(c.t.Context(), conn, statement, nil)
			assert.NoError(c.t, err, name)
			described, err := conn.Prepare(c.t.Context(), "", sql)
			if err != nil {
				c.t.Errorf("%s: %s: %v", filepath.Base(file), name, err)
				continue
			}
			s := &prepared{params: map[string]uint32{}, columns: map[string]uint32{}}
			for i, param := range order {
				s.params[param.(string)] = described.ParamOIDs[i]
			}
			for _, field := range described.Fields {
				s.columns[field.Name] = field.DataTypeOID
			}
			if c.statements[name] != nil {
				c.t.Errorf("%s: two statements are named %q", c.p.PkgPath, name)
			}
			c.statements[name] = s
		}
	}
	return len(c.statements) > 0
}

func (c *statementChecker) errorf(at token.Pos, format string, args ...any) {
	place := c.p.Fset.Position(at)
	c.t.Errorf("%s/%s:%d: %s", c.p.Types.Name(), filepath.Base(place.Filename), place.Line, fmt.Sprintf(format, args...))
}

func (c *statementChecker) check() {
	for _, file := range c.p.Syntax {
		var stack []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			switch n := n.(type) {
			case *ast.BasicLit:
				if s := c.statements[c.text(n)]; s != nil {
					s.used = true
				}
			case *ast.CallExpr:
				c.call(n, stack)
			case *ast.CompositeLit, *ast.AssignStmt:
				maps.Copy(c.keys, c.keysIn(n))
			case *ast.KeyValueExpr:
				c.name(n)
			}
			return true
		})
	}
	for name, s := range c.statements {
		if !s.used {
			c.t.Errorf("%s: nothing runs the statement %q", c.p.PkgPath, name)
		}
		for param := range s.params {
			if _, ok := c.keys[param]; !ok && param != "limit" && param != "offset" {
				c.t.Errorf("%s: nothing gives the statement %q its parameter %q", c.p.PkgPath, name, param)
			}
			c.given[param] = true
		}
	}
	for key, at := range c.keys {
		if !c.given[key] {
			c.errorf(at, "no statement has the parameter %q", key)
		}
	}
}

// text returns the value of a constant text, or "".
func (c *statementChecker) text(e ast.Expr) string {
	if v := c.p.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// name checks a statement that a field names. The package of the field runs it.
func (c *statementChecker) name(pair *ast.KeyValueExpr) {
	key, ok := pair.Key.(*ast.Ident)
	s := c.statements[c.text(pair.Value)]
	if !ok || s == nil {
		return
	}
	field, ok := c.p.TypesInfo.Uses[key].(*types.Var)
	if !ok {
		return
	}
	call, ok := c.named[field]
	if !ok {
		return
	}
	name := c.text(pair.Value)
	c.fit(pair.Pos(), name, s, call.args)
	for param := range s.params {
		c.keys[param] = pair.Pos()
	}
	if call.row != nil {
		c.columns(pair.Pos(), name, s, call.row)
	}
}

// fit compares the parameters of a statement with its arguments.
func (c *statementChecker) fit(at token.Pos, name string, s *prepared, args map[string]types.Type) {
	for param, oid := range s.params {
		given, ok := args[param]
		switch {
		case !ok:
			c.errorf(at, "the statement %q gets no %q", name, param)
		case !fits(given, oid):
			c.errorf(at, "the statement %q gets %s as %q, which is %s", name, given, param, typeName(oid))
		}
	}
}

// call checks a call that runs a statement: it has the name of one and arguments, or rows to read.
func (c *statementChecker) call(call *ast.CallExpr, stack []ast.Node) {
	var name string
	keys := map[string]types.Type{}
	hasArgs := false
	for _, arg := range call.Args {
		if text := c.text(arg); c.statements[text] != nil {
			name = text
		}
		if named, ok := c.named[c.field(arg)]; ok {
			for key := range named.args {
				c.given[key] = true
			}
		}
		if inner, ok := arg.(*ast.CallExpr); ok && len(inner.Args) == 1 && strings.HasSuffix(types.ExprString(inner.Fun), ".Statement") {
			name = c.text(inner.Args[0])
		}
		if isNamedArgs(c.p.TypesInfo.TypeOf(arg)) {
			hasArgs = true
			maps.Copy(keys, c.args(arg, stack, 0))
		}
	}
	s := c.statements[name]
	if s == nil {
		return
	}
	callee, generic := c.callee(call)
	if callee != nil && callee.Pkg() == c.p.Types {
		if body := c.bodyOf(callee); body != nil {
			maps.Copy(keys, c.typesIn(body))
		}
	}
	switch callee.Name() {
	case "List":
		keys["limit"], keys["offset"] = types.Typ[types.Int], types.Typ[types.Int]
	case "Statement":
		return
	}
	if hasArgs || len(s.params) > 0 && isOfPostgres(callee) {
		c.fit(call.Pos(), name, s, keys)
	}
	if generic != nil {
		c.columns(call.Pos(), name, s, generic)
	}
}

// callee returns the function that is called, and the row that it reads if it is one of postgres.
func (c *statementChecker) callee(call *ast.CallExpr) (callee types.Object, row types.Type) {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	var id *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return types.Universe.Lookup("nil"), nil
	}
	callee = c.p.TypesInfo.Uses[id]
	if instance, ok := c.p.TypesInfo.Instances[id]; ok && slices.Contains([]string{"One", "Many", "List"}, id.Name) {
		row = instance.TypeArgs.At(0)
	}
	if callee == nil {
		callee = types.Universe.Lookup("nil")
	}
	return callee, row
}

func isNamedArgs(t types.Type) bool {
	if slice, ok := t.(*types.Slice); ok {
		t = slice.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == "NamedArgs"
}

// maxDepth bounds how far arguments are followed.
const maxDepth = 4

// args returns the names and types of arguments: those of a literal, of a variable that has one and what is added to it, and of a
// function that makes them.
func (c *statementChecker) args(e ast.Expr, stack []ast.Node, depth int) map[string]types.Type {
	found := map[string]types.Type{}
	if depth > maxDepth {
		return found
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return c.typesIn(e)
	case *ast.Ident, *ast.SelectorExpr:
		// All that the functions around assign to it.
		id := lastIdent(e)
		object := c.p.TypesInfo.ObjectOf(id)
		for _, file := range c.p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr: // a field of a struct
					if key, ok := n.Key.(*ast.Ident); ok && c.p.TypesInfo.ObjectOf(key) == object {
						maps.Copy(found, c.args(n.Value, stack, depth+1))
					}
				case *ast.ValueSpec:
					for i, name := range n.Names {
						if c.p.TypesInfo.ObjectOf(name) == object && i < len(n.Values) {
							maps.Copy(found, c.args(n.Values[i], stack, depth+1))
						}
					}
				case *ast.AssignStmt:
					for i, to := range n.Lhs {
						if index, ok := to.(*ast.IndexExpr); ok && c.p.TypesInfo.ObjectOf(lastIdent(index.X)) == object {
							maps.Copy(found, c.typesIn(n))
						} else if c.p.TypesInfo.ObjectOf(lastIdent(to)) == object && object != nil {
							maps.Copy(found, c.args(n.Rhs[min(i, len(n.Rhs)-1)], stack, depth+1))
						}
					}
				case *ast.CallExpr: // a function that adds to it, or that has it as a parameter
					for i, arg := range n.Args {
						if id := lastIdent(arg); id != nil && c.p.TypesInfo.ObjectOf(id) == object && object != nil {
							for _, other := range n.Args {
								if other != arg && isNamedArgs(c.p.TypesInfo.TypeOf(other)) {
									maps.Copy(found, c.args(other, stack, depth+1))
								}
							}
							continue
						}
						if callee, _ := c.callee(n); callee != nil {
							if f, ok := callee.(*types.Func); ok && f.Pkg() == c.p.Types {
								params := f.Signature().Params()
								if params.Len() > 0 && params.At(min(i, params.Len()-1)) == object {
									maps.Copy(found, c.args(arg, stack, depth+1))
								}
							}
						}
					}
				}
				return true
			})
		}
	case *ast.CallExpr:
		for _, arg := range e.Args {
			if isNamedArgs(c.p.TypesInfo.TypeOf(arg)) {
				maps.Copy(found, c.args(arg, stack, depth+1))
			}
		}
		callee, _ := c.callee(e)
		if body := c.bodyOf(callee); body != nil {
			maps.Copy(found, c.typesIn(body))
		}
	}
	return found
}

func lastIdent(e ast.Expr) *ast.Ident {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	}
	return nil
}

// bodyOf returns the body of a function of the package, also of one in a variable.
func (c *statementChecker) bodyOf(of types.Object) (body ast.Node) {
	if of == nil {
		return nil
	}
	for _, file := range c.p.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if c.p.TypesInfo.ObjectOf(n.Name) == of && n.Body != nil {
					body = n.Body
				}
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if id, ok := to.(*ast.Ident); ok && c.p.TypesInfo.ObjectOf(id) == of && i < len(n.Rhs) {
						if function, ok := n.Rhs[i].(*ast.FuncLit); ok {
							body = function.Body
						}
					}
				}
			}
			return body == nil
		})
	}
	return body
}

// keysIn returns the names of arguments in a literal of arguments, or an assignment to some.
func (c *statementChecker) keysIn(n ast.Node) map[string]token.Pos {
	keys := map[string]token.Pos{}
	switch n := n.(type) {
	case *ast.CompositeLit:
		if !isNamedArgs(c.p.TypesInfo.TypeOf(n)) {
			return keys
		}
		for _, element := range n.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				if key := c.text(pair.Key); key != "" {
					keys[key] = pair.Pos()
				}
			}
		}
	case *ast.AssignStmt:
		for _, to := range n.Lhs {
			if index, ok := to.(*ast.IndexExpr); ok && isNamedArgs(c.p.TypesInfo.TypeOf(index.X)) {
				if key := c.text(index.Index); key != "" {
					keys[key] = index.Pos()
				}
			}
		}
	}
	return keys
}

// typesIn returns the names and types of all arguments in a part of the code.
func (c *statementChecker) typesIn(root ast.Node) map[string]types.Type {
	found := map[string]types.Type{}
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr: // a function that makes arguments
			if callee, _ := c.callee(n); isNamedArgs(c.p.TypesInfo.TypeOf(n)) {
				if body := c.bodyOf(callee); body != nil && body != root {
					maps.Copy(found, c.typesIn(body))
				}
			}
		case *ast.CompositeLit:
			if isNamedArgs(c.p.TypesInfo.TypeOf(n)) {
				for _, element := range n.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok {
						found[c.text(pair.Key)] = c.p.TypesInfo.TypeOf(pair.Value)
					}
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if index, ok := to.(*ast.IndexExpr); ok && isNamedArgs(c.p.TypesInfo.TypeOf(index.X)) {
					value := types.Type(types.NewInterfaceType(nil, nil))
					if len(n.Rhs) == len(n.Lhs) {
						value = c.p.TypesInfo.TypeOf(n.Rhs[i])
					}
					found[c.text(index.Index)] = value
				}
			}
		}
		return true
	})
	return found
}

// columns compares the columns of a statement with the fields of the row that is read, as pgx.RowToStructByName does.
func (c *statementChecker) columns(at token.Pos, name string, s *prepared, row types.Type) {
	fields := map[string]types.Type{}
	if !fieldsOf(row, fields) {
		return // a type parameter
	}
	plain := func(column string) string { return strings.ReplaceAll(strings.ToLower(column), "_", "") }
	for column, oid := range s.columns {
		field, ok := fields[plain(column)]
		switch {
		case !ok:
			c.errorf(at, "the row of %q has no field for the column %q", name, column)
		case !fits(field, oid):
			c.errorf(at, "the row of %q has %s for the column %q, which is %s", name, field, column, typeName(oid))
		}
		delete(fields, plain(column))
	}
	for field := range fields {
		c.errorf(at, "the statement %q has no column for the field %q", name, field)
	}
}

func fieldsOf(row types.Type, fields map[string]types.Type) bool {
	of, ok := row.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i := range of.NumFields() {
		field := of.Field(i)
		tag, isTagged := reflect.StructTag(of.Tag(i)).Lookup("db")
		switch {
		case tag == "-":
		case field.Anonymous():
			if !fieldsOf(field.Type(), fields) {
				return false
			}
		case isTagged:
			fields[strings.ReplaceAll(strings.ToLower(tag), "_", "")] = field.Type()
		case field.Exported():
			fields[strings.ToLower(field.Name())] = field.Type()
		}
	}
	return true
}

// fitting has the Go types that pgx converts to and from a type of PostgreSQL.
var fitting = map[uint32][]string{
	pgtype.TextOID:        {"string"},
	pgtype.VarcharOID:     {"string"},
	pgtype.UUIDOID:        {"github.com/google/uuid.UUID"},
	pgtype.TimestamptzOID: {"time.Time"},
	pgtype.DateOID:        {"time.Time"},
	pgtype.IntervalOID:    {"time.Duration"},
	pgtype.BoolOID:        {"bool"},
	pgtype.Int2OID:        {"int", "int16", "int32", "int64"},
	pgtype.Int4OID:        {"int", "int32", "int64"},
	pgtype.Int8OID:        {"int", "int32", "int64", "uint64", "uint32"},
	pgtype.NumericOID:     {"float64", "int", "int64", "string"},
	pgtype.Float8OID:      {"float64"},
	pgtype.ByteaOID:       {"[]byte"},
	pgtype.InetOID:        {"net/netip.Addr"},
	pgtype.JSONBOID:       {"*"},
	pgtype.JSONOID:        {"*"},
}

// fits reports whether values of a Go type are values of a type of PostgreSQL.
func fits(given types.Type, oid uint32) bool {
	if pointer, ok := given.(*types.Pointer); ok {
		given = pointer.Elem()
	}
	if basic, ok := given.(*types.Basic); ok && basic.Kind() == types.UntypedNil {
		return true
	}
	if _, ok := given.Underlying().(*types.Interface); ok {
		return true // a value whose type is known when it runs
	}
	if element, ok := pgtype.NewMap().TypeForOID(oid); ok {
		if array, ok := element.Codec.(*pgtype.ArrayCodec); ok {
			list, ok := given.Underlying().(*types.Slice)
			return ok && fits(list.Elem(), array.ElementType.OID)
		}
	}
	allowed, ok := fitting[oid]
	if !ok {
		return false
	}
	given = types.Default(given)
	return slices.Contains(allowed, "*") || slices.Contains(allowed, given.String()) || slices.Contains(allowed, given.Underlying().String())
}

func typeName(oid uint32) string {
	if known, ok := pgtype.NewMap().TypeForOID(oid); ok {
		return known.Name
	}
	return fmt.Sprint("type ", oid)
}
