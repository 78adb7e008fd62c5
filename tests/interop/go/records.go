package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// Record is one of those that records.py describes; nil is null.
type Record struct {
	Partition int32
	Offset    int64
	Timestamp int64
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Header is one of a record's, whose names may repeat.
type Header struct {
	Name  string
	Value []byte
}

type reader struct {
	*bytes.Reader
	err error
}

func (r *reader) i32() (n int32) {
	r.number(&n)
	return n
}

func (r *reader) i64() (n int64) {
	r.number(&n)
	return n
}

func (r *reader) number(to any) {
	if r.err == nil {
		r.err = binary.Read(r, binary.BigEndian, to)
	}
}

func (r *reader) bytes() []byte {
	length := r.i32()
	if r.err != nil || length < 0 {
		return nil
	}
	if int(length) > r.Len() {
		r.err = io.ErrUnexpectedEOF
		return nil
	}
	data := make([]byte, length)
	_, r.err = io.ReadFull(r, data)
	return data
}

func readFile(path string) ([]Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	in := &reader{Reader: bytes.NewReader(data)}
	var records []Record
	for in.Len() > 0 && in.err == nil {
		record := Record{Partition: in.i32(), Offset: in.i64(), Timestamp: in.i64(), Key: in.bytes(), Value: in.bytes()}
		for left := in.i32(); left > 0 && in.err == nil; left-- {
			record.Headers = append(record.Headers, Header{string(in.bytes()), in.bytes()})
		}
		records = append(records, record)
	}
	if in.err != nil {
		return nil, errors.Join(errors.New(path), in.err)
	}
	return records, nil
}

func putBytes(out []byte, data []byte) []byte {
	if data == nil {
		return binary.BigEndian.AppendUint32(out, ^uint32(0))
	}
	return append(binary.BigEndian.AppendUint32(out, uint32(len(data))), data...)
}

func writeFile(path string, records []Record) error {
	var out []byte
	for _, record := range records {
		out = binary.BigEndian.AppendUint32(out, uint32(record.Partition))
		out = binary.BigEndian.AppendUint64(out, uint64(record.Offset))
		out = binary.BigEndian.AppendUint64(out, uint64(record.Timestamp))
		out = putBytes(putBytes(out, record.Key), record.Value)
		out = binary.BigEndian.AppendUint32(out, uint32(len(record.Headers)))
		for _, header := range record.Headers {
			out = putBytes(putBytes(out, []byte(header.Name)), header.Value)
		}
	}
	return os.WriteFile(path, out, 0o644)
}
