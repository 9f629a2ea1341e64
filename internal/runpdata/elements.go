package runpdata

import "strings"

// splitElements splits the text of a JSON array into the texts of its elements. It looks only at quotes and brackets:
// parsing an element later shows whether it is valid. ok is false if the text is no array.
func splitElements(text string) (elements []string, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return nil, false
	}
	return cutElements(text[1 : len(text)-1])
}

// cutElements is splitElements for the text between the brackets.
func cutElements(inner string) (elements []string, ok bool) {
	depth, start := 0, 0
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case '"':
			if i = endOfString(inner, i+1); i < 0 {
				return nil, false
			}
		case '[', '{':
			depth++
		case ']', '}':
			depth--
			if depth < 0 {
				return nil, false
			}
		case ',':
			if depth == 0 {
				elements = append(elements, strings.TrimSpace(inner[start:i]))
				start = i + 1
			}
		}
	}
	if depth != 0 {
		return nil, false
	}
	if last := strings.TrimSpace(inner[start:]); last != "" || len(elements) > 0 {
		elements = append(elements, last)
	}
	return elements, true
}

// endOfString returns the offset of the quote that ends the string whose first byte is at i, or -1.
func endOfString(text string, i int) int {
	quote := i - 1
	for {
		if quote < i {
			next := strings.IndexByte(text[min(i, len(text)):], '"')
			if next < 0 {
				return -1
			}
			quote = i + next
		}
		escape := strings.IndexByte(text[i:quote], '\\')
		if escape < 0 {
			return quote
		}
		i += escape + len(`\"`)
	}
}
