package agentview

import (
	"regexp"
	"strings"
)

var (
	// caretLine marks a place in the line above: Python 3.11 and later.
	caretLine = regexp.MustCompile(`^[\s|]*[~^]+\s*$`)
	// pythonFrame is followed by lines of code that are indented further.
	pythonFrame = regexp.MustCompile(`^([\s|]*)File "[^"]*", line \d+`)
	// oneLineFrame is a frame of JavaScript, Java, C#, Ruby or PHP.
	oneLineFrame = regexp.MustCompile(`^\s+at \S|^\s*#\d+ \S|^\s*from \S+:\d+:in |^\S+\.rb:\d+:in `)
	// goFrame is the second line of a frame of Go.
	goFrame = regexp.MustCompile(`^\t\S+\.(?:go|s):\d+`)
	// internalFrame is a frame of a language's library or of an installed package.
	internalFrame = regexp.MustCompile(`[/\\](?:site-packages|dist-packages|node_modules|vendor|gems)[/\\]|[/\\]lib[/\\]python3[.\d]*[/\\]|\\Lib\\|"<frozen |\bnode:|` +
		`/usr/local/go/src/|/go/pkg/mod/|^\s*at (?:java|javax|jdk|sun|kotlin|kotlinx|scala|org\.springframework|reactor|io\.netty|okhttp3|System|Microsoft)\.`)
)

// stackPart is some lines of a stack, or a number of frames that are left out.
type stackPart struct {
	text    string
	leftOut int
}

// stackLine is a frame, or a line between frames.
type stackLine struct {
	text            string
	frame, internal bool
	// last reports that the deepest frame is the last of its neighbors, as in Python, not the first.
	last bool
}

// shortStack returns a stack without the frames of libraries, except the deepest of each trace, and without lines of carets.
func shortStack(text string) []stackPart {
	lines := stackLines(text)
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && lines[to].frame {
			to++
		}
		if to > from {
			deepest := from
			if lines[from].last {
				deepest = to - 1
			}
			lines[deepest].internal = false
		}
		from = max(to, from+1)
	}
	var parts []stackPart
	for _, line := range lines {
		last := len(parts) - 1
		switch {
		case line.internal && last >= 0 && parts[last].leftOut > 0:
			parts[last].leftOut++
		case line.internal:
			parts = append(parts, stackPart{leftOut: 1})
		case last >= 0 && parts[last].leftOut == 0:
			parts[last].text += "\n" + line.text
		default:
			parts = append(parts, stackPart{text: line.text})
		}
	}
	return parts
}

// stackLines groups the lines of a stack by frames.
func stackLines(text string) []stackLine {
	var lines []stackLine
	indent := -1 // of the Python frame that is being read
	all := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(all); i++ {
		line := all[i]
		if caretLine.MatchString(line) {
			continue
		}
		if found := pythonFrame.FindStringSubmatch(line); found != nil {
			indent = len(found[1])
			lines = append(lines, stackLine{text: line, frame: true, last: true, internal: internalFrame.MatchString(line)})
			continue
		}
		if own := len(line) - len(strings.TrimLeft(line, " \t|")); indent >= 0 && (own > indent || strings.HasPrefix(strings.TrimSpace(line), "[Previous line repeated")) {
			lines[len(lines)-1].text += "\n" + line // the code of the frame
			continue
		}
		indent = -1
		switch {
		case oneLineFrame.MatchString(line):
			lines = append(lines, stackLine{text: line, frame: true, internal: internalFrame.MatchString(line)})
		case i+1 < len(all) && goFrame.MatchString(all[i+1]):
			i++
			lines = append(lines, stackLine{text: line + "\n" + all[i], frame: true, internal: internalFrame.MatchString(all[i])})
		default:
			lines = append(lines, stackLine{text: line})
		}
	}
	return lines
}
