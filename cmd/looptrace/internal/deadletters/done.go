package deadletters

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxNote is what Kafka takes as the metadata of a committed offset (offset.metadata.max.bytes), in bytes.
const maxNote = 4096

// span is a range of offsets, from first up to and without end.
type span struct{ first, end int64 }

// done is the set of the offsets of a partition that were redriven: all below a watermark, and ranges behind
// it where some were chosen and others left. It is kept as a committed offset of the redrive group: the
// watermark is the offset, the ranges are its metadata.
type done struct {
	below  int64
	ranges []span // in ascending order, apart from each other and from below
}

func (d *done) has(offset int64) bool {
	if offset < d.below {
		return true
	}
	return slices.ContainsFunc(d.ranges, func(s span) bool { return s.first <= offset && offset < s.end })
}

// add puts an offset in. First is the oldest offset of the partition: what lies before it is gone.
func (d *done) add(offset, first int64) {
	if d.has(offset) {
		return
	}
	d.below = max(d.below, first)
	d.ranges = append(d.ranges, span{offset, offset + 1})
	d.tidy()
}

func (d *done) tidy() {
	slices.SortFunc(d.ranges, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	var kept []span
	for _, s := range d.ranges {
		switch {
		case s.first <= d.below:
			d.below = max(d.below, s.end)
		case len(kept) > 0 && s.first <= kept[len(kept)-1].end:
			kept[len(kept)-1].end = max(kept[len(kept)-1].end, s.end)
		default:
			kept = append(kept, s)
		}
	}
	d.ranges = kept
}

// note writes the ranges as "17,19-23". What does not fit is forgotten, the oldest kept: to redrive it again
// costs work and changes nothing.
func (d *done) note() string {
	var b strings.Builder
	for _, s := range d.ranges {
		text := strconv.FormatInt(s.first, 10)
		if last := s.end - 1; last > s.first {
			text += "-" + strconv.FormatInt(last, 10)
		}
		if b.Len() > 0 {
			text = "," + text
		}
		if b.Len()+len(text) > maxNote {
			break
		}
		b.WriteString(text)
	}
	return b.String()
}

func parseDone(below int64, note string) (done, error) {
	d := done{below: max(below, 0)}
	if note == "" {
		return d, nil
	}
	for text := range strings.SplitSeq(note, ",") {
		from, to, isRange := strings.Cut(text, "-")
		if !isRange {
			to = from
		}
		first, errFirst := strconv.ParseInt(from, 10, 63) // below the largest, so that there is an end
		last, errLast := strconv.ParseInt(to, 10, 63)
		if errFirst != nil || errLast != nil || last < first {
			return done{}, fmt.Errorf("read what was redriven: %q is no range of offsets", text)
		}
		d.ranges = append(d.ranges, span{first, last + 1})
	}
	d.tidy()
	return d, nil
}
