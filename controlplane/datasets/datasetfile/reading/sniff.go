package reading

import (
	"bytes"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// delimiterLine reads the line sep=; with which Excel names the delimiter, and returns its size.
func delimiterLine(start []byte) (delimiter byte, size int) {
	const prefix = "sep="
	end := bytes.IndexAny(start, "\r\n")
	if end != len(prefix)+1 || !bytes.HasPrefix(start, []byte(prefix)) {
		return 0, 0
	}
	size = end + 1
	if start[end] == '\r' && len(start) > size && start[size] == '\n' {
		size++
	}
	return start[len(prefix)], size
}

// sniffDelimiter returns the delimiter that divides most of the first rows into as many cells as the header has. Without
// one the file has one column.
func sniffDelimiter(start []byte, newline byte) byte {
	const sample = 50
	best, bestRows, bestCells := byte(','), 0.0, 1
	for _, delimiter := range []byte{',', ';', '\t', '|'} {
		counts := cellCounts(start, delimiter, newline, sample)
		if len(counts) == 0 || counts[0] < 2 {
			continue
		}
		same := 0
		for _, n := range counts {
			if n == counts[0] {
				same++
			}
		}
		share := float64(same) / float64(len(counts))
		if share > bestRows || share == bestRows && counts[0] > bestCells {
			best, bestRows, bestCells = delimiter, share, counts[0]
		}
	}
	return best
}

// cellCounts returns how many cells each of the first rows has.
func cellCounts(start []byte, delimiter, newline byte, limit int) []int {
	t, err := datasetfile.OpenText(bytes.NewReader(start), datasetfile.UTF8, nil)
	if err != nil {
		return nil
	}
	t.Newline = newline
	c := &csvRows{text: t, delimiter: delimiter, partial: len(start) >= datasetfile.HeadSize/2}
	var counts []int
	for len(counts) < limit {
		if _, err := c.record(); err != nil {
			break
		}
		counts = append(counts, len(c.ends))
	}
	return counts
}

func cellCount(start []byte, delimiter, newline byte) int {
	if counts := cellCounts(start, delimiter, newline, 1); len(counts) > 0 {
		return min(counts[0], datasetfile.MaxColumns)
	}
	return 1
}
