'use strict'
// The file form of records that records.py describes. Offsets and times are strings, as kafkajs has them.

const fs = require('fs')

class Reader {
  constructor(data) {
    this.data = data
    this.at = 0
  }

  i32() {
    this.at += 4
    return this.data.readInt32BE(this.at - 4)
  }

  i64() {
    this.at += 8
    return this.data.readBigInt64BE(this.at - 8).toString()
  }

  bytes() {
    const length = this.i32()
    if (length < 0) return null
    this.at += length
    return this.data.subarray(this.at - length, this.at)
  }

  record() {
    const record = { partition: this.i32(), offset: this.i64(), timestamp: this.i64(), key: this.bytes(), value: this.bytes() }
    record.headers = Array.from({ length: this.i32() }, () => [this.bytes().toString(), this.bytes()])
    return record
  }
}

function readFile(path) {
  const reader = new Reader(fs.readFileSync(path))
  const records = []
  while (reader.at < reader.data.length) records.push(reader.record())
  return records
}

function i32(number) {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(number)
  return bytes
}

function i64(text) {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(text))
  return bytes
}

function bytes(data) {
  return data === null || data === undefined ? [i32(-1)] : [i32(data.length), data]
}

function writeFile(path, records) {
  const out = []
  for (const { partition, offset, timestamp, key, value, headers } of records) {
    out.push(i32(partition), i64(offset), i64(timestamp), ...bytes(key), ...bytes(value), i32(headers.length))
    for (const [name, content] of headers) out.push(...bytes(Buffer.from(name)), ...bytes(content))
  }
  fs.writeFileSync(path, Buffer.concat(out))
}

// kafkajs keeps headers in an object, several of one name in an array.
function toObject(headers) {
  const object = {}
  for (const [name, content] of headers) {
    if (name in object) object[name] = [].concat(object[name], [content])
    else object[name] = content
  }
  return object
}

function fromObject(headers) {
  return Object.entries(headers || {}).flatMap(([name, content]) => [].concat(content).map(each => [name, each]))
}

module.exports = { readFile, writeFile, toObject, fromObject }
