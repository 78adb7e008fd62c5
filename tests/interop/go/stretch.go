package main

// stretch gathers offsets of one partition that follow one another, and tells each run of them.
type stretch struct {
	partition   int32
	first, next int64
}

func (s *stretch) add(offset int64) {
	if s.next != s.first && offset != s.next {
		tellRead(s.partition, s.first, s.next)
		s.first, s.next = offset, offset
	}
	if s.next == s.first {
		s.first = offset
	}
	s.next = offset + 1
}

// end tells the last run; false when there was none.
func (s *stretch) end() bool {
	if s.next == s.first {
		return false
	}
	tellRead(s.partition, s.first, s.next)
	return true
}
