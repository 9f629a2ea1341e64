package importing

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// reader collects the prompts of a file.
type reader struct {
	fileName string
	file     File
	sources  []*source
	byID     map[string]*source
	// conversions counts those of the whole file.
	conversions int
	err         error
}

// source is a prompt of the file whose versions are still being collected.
type source struct {
	// name is empty if the prompt has none; shown is what its file calls it then.
	name, shown, description string
	tags                     []string
	versions                 []numbered
	// numbers are those of the versions.
	numbers map[int64]bool
}

// numbered is a version with what it is sorted by.
type numbered struct {
	Version
	number int64
	// at is a time in RFC 3339.
	at string
}

// rejection is the error of a prompt that cannot be converted.
type rejection struct {
	path   string
	line   int
	reason string
}

func (e *rejection) Error() string { return e.reason }

func reject(path string, format string, args ...any) error {
	return &rejection{path: path, reason: fmt.Sprintf(format, args...)}
}

// each calls read with each prompt of the file: the object itself, those of a list, or those of the list in the named
// member of the object.
func (r *reader) each(root value, member string, read func(o object, place string)) error {
	items, isList := root.list()
	prefix := ""
	if !isList {
		o, isObject := root.object()
		if !isObject {
			return fmt.Errorf("a file of the format %s has an object, or a list of objects", r.file.Format)
		}
		for _, name := range []string{member, "repos"} {
			if items, isList = root.member(name).list(); isList {
				prefix = name
				break
			}
		}
		if !isList {
			read(o, "")
			return nil
		}
	}
	for i, item := range items {
		place := fmt.Sprintf("%s[%d]", prefix, i)
		o, isObject := item.object()
		if !isObject {
			r.reject(place, reject(place, "is not an object"))
			continue
		}
		read(o, place)
	}
	return nil
}

// reject lists a prompt that cannot be converted. One without a name is named by its place.
func (r *reader) reject(name string, err error) {
	rejected := Rejected{SourceName: cmp.Or(name, r.baseName()), Reason: err.Error()}
	var rejection *rejection
	if errors.As(err, &rejection) {
		rejected.Path, rejected.Line = rejection.path, rejection.line
	}
	r.file.Rejected = append(r.file.Rejected, rejected)
}

// add adds a version to the prompt with this id, or as a prompt of its own without one.
func (r *reader) add(id, name string, v numbered) *source {
	s := r.byID[id]
	if s == nil || id == "" {
		s = &source{name: name, numbers: map[int64]bool{}}
		r.sources = append(r.sources, s)
		r.byID[id] = s
	}
	s.versions = append(s.versions, v)
	s.numbers[v.number] = true
	r.conversions += len(v.Conversions)
	if r.conversions > maxConversions && r.err == nil {
		r.err = fmt.Errorf("the templates of the file need more than %d conversions; split the file", maxConversions)
	}
	return s
}

// baseName is the name of the file without folder and extension.
func (r *reader) baseName() string {
	base := path.Base(strings.ReplaceAll(r.fileName, `\`, "/"))
	if base == "." || base == "/" || base == "-" {
		return "prompt"
	}
	return strings.TrimSuffix(base, path.Ext(base))
}

// finish sorts the versions and names the prompts.
func (r *reader) finish() {
	names := namer{taken: map[string]bool{}, next: map[string]int{}}
	for _, s := range r.sources {
		slices.SortStableFunc(s.versions, func(a, b numbered) int {
			return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.at, b.at))
		})
		sourceName := cmp.Or(s.shown, s.name, r.baseName())
		p := Prompt{Name: names.name(cmp.Or(s.name, r.baseName())), SourceName: sourceName, Description: printable(s.description)}
		for _, v := range s.versions {
			p.Versions = append(p.Versions, v.Version)
		}
		newest := &p.Versions[len(p.Versions)-1]
		p.Tags = validTags(s.tags, newest)
		if cut := utf8text.Cut(p.Description, maxText); cut != p.Description {
			p.Description = cut
			newest.leaveOut("description", "it is cut to %d characters", maxText)
		}
		if p.Name != sourceName {
			newest.Conversions = append(newest.Conversions, Conversion{Path: "name", Line: 1, From: utf8text.Cut(sourceName, maxShown), To: p.Name})
		}
		oneVersionPerAlias(p.Versions)
		r.file.Prompts = append(r.file.Prompts, p)
	}
}

// oneVersionPerAlias leaves each alias to the newest version that has it.
func oneVersionPerAlias(versions []Version) {
	seen := map[string]bool{}
	for i := len(versions) - 1; i >= 0; i-- {
		v := &versions[i]
		v.Aliases = slices.DeleteFunc(v.Aliases, func(alias string) bool {
			if seen[alias] {
				v.leaveOut("labels", "a newer version has the label %s too", alias)
				return true
			}
			seen[alias] = true
			return false
		})
	}
}

// Limits of a prompt.
const (
	maxTags     = 20
	maxTag      = 64
	maxText     = 2000
	maxMessages = 500
	maxTools    = 500
	maxShown    = 200
)

func validTags(tags []string, v *Version) []string {
	var valid []string
	for _, tag := range tags {
		tag = strings.Join(strings.Fields(printable(tag)), " ")
		switch {
		case tag == "" || slices.Contains(valid, tag):
		case len([]rune(tag)) > maxTag:
			v.leaveOut("tags", "%s is longer than %d characters", utf8text.Cut(tag, maxTag), maxTag)
		case len(valid) == maxTags:
			v.leaveOut("tags", "%s: a prompt has at most %d tags", tag, maxTags)
		default:
			valid = append(valid, tag)
		}
	}
	return valid
}

// aliases makes aliases of labels.
func (v *Version) aliases(labels []string) {
	for _, label := range labels {
		switch {
		case label == "latest", slices.Contains(v.Aliases, label):
		case !aliasPattern.MatchString(label):
			v.leaveOut("labels", "%s is no name for an alias", utf8text.Cut(label, maxTag))
		default:
			v.Aliases = append(v.Aliases, label)
		}
	}
}

func (v *Version) leaveOut(path, format string, args ...any) {
	v.LeftOut = append(v.LeftOut, path+": "+fmt.Sprintf(format, args...))
}

// variable adds what the file says about a variable.
func (b *builder) variable(path, name string, v Variable) {
	if name == "" || strings.IndexFunc(name, notInName) >= 0 {
		b.version.leaveOut(path, "%s is no name of a variable", shown(name))
		return
	}
	if b.version.Variables == nil {
		b.version.Variables = map[string]Variable{}
	}
	b.version.Variables[name] = v
}

// printable replaces control characters by spaces. Notes, descriptions and tags have none but line ends and tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' {
			return ' '
		}
		return r
	}, s)
}

func (v *Version) note(note string) {
	note = printable(note)
	v.Note = utf8text.Cut(note, maxText)
	if v.Note != note {
		v.leaveOut("note", "it is cut to %d characters", maxText)
	}
}
