'use strict'
// kafkajs behind the line protocol of drivers.py: one JSON command a line on stdin, one JSON answer a line on stdout.

const { Kafka, Partitioners, logLevel } = require('kafkajs')
const readline = require('readline')
const codec = require('./codecs')
const { live, tell } = require('./member')
const { readFile, writeFile, toObject, fromObject } = require('./records')

const bootstrap = process.argv[2]

function client(clientId) {
  const logCreator = () => ({ namespace, log }) => console.error(new Date().toISOString(), namespace, JSON.stringify(log))
  return new Kafka({ clientId, brokers: [bootstrap], logLevel: logLevel.INFO, logCreator })
}

function say(message) {
  process.stdout.write(JSON.stringify(message) + '\n')
}

const AT_ONCE = 200

async function produce(command) {
  const records = readFile(command.in)
  // Sends a record where it wants to go, and one that does not care where its key says; and remembers it.
  const createPartitioner = () => {
    const byKey = Partitioners.DefaultPartitioner()
    return choice => {
      const { record } = choice.message
      if (record.partition < 0) record.partition = byKey(choice)
      return record.partition
    }
  }
  const producer = client('interop-kafkajs').producer({ createPartitioner })
  await producer.connect()
  try {
    for (let at = 0; at < records.length; at += AT_ONCE) await send(producer, command, records.slice(at, at + AT_ONCE))
  } finally {
    await producer.disconnect()
  }
  writeFile(command.out, records)
  return { records: records.length }
}

async function send(producer, command, records) {
  const messages = records.map(record => ({
    key: record.key,
    value: record.value,
    headers: toObject(record.headers),
    timestamp: record.timestamp === '-1' ? undefined : record.timestamp,
    record,
  }))
  const compression = codec(command.config['compression.type'])
  const reports = await producer.send({ topic: command.topic, acks: -1, compression, messages })
  const following = new Map(reports.map(report => [report.partition, BigInt(report.baseOffset)]))
  for (const record of records) {
    record.offset = following.get(record.partition).toString()
    following.set(record.partition, following.get(record.partition) + 1n)
  }
}

// kafkajs reads in groups only: one of its own, which commits nothing.
async function consume(command) {
  const left = new Map(Object.entries(command.ends).filter(([, end]) => end > 0).map(([p, end]) => [Number(p), end]))
  const records = []
  const consumer = client('interop-kafkajs').consumer({
    groupId: `${command.topic}-reader-${process.pid}-${Date.now()}`,
    maxWaitTimeInMs: 200,
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [command.topic], fromBeginning: true })
  try {
    await new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`only ${records.length} records came`)), command.timeout_ms).unref()
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      consumer.run({
        autoCommit: false,
        eachMessage: async ({ partition, message }) => {
          const { offset, timestamp, key, value } = message
          records.push({ partition, offset, timestamp, key, value, headers: fromObject(message.headers) })
          if (Number(offset) + 1 >= left.get(partition)) left.delete(partition)
          if (left.size === 0) resolve()
        },
      }).catch(reject)
    })
  } finally {
    await consumer.disconnect()
  }
  writeFile(command.out, records)
  return { records: records.length }
}

async function join(command, leaving) {
  try {
    await live(client(command.client_id), command, say, leaving)
    process.exit(0)
  } catch (error) {
    tell(say, 'failed', { message: String(error) })
    process.exit(1)
  }
}

const VERBS = { produce, consume }

async function main() {
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const command = JSON.parse(line.value)
    if (command.do === 'join') return join(command, lines.next())
    try {
      say(await VERBS[command.do](command))
    } catch (error) {
      say({ error: error.name || 'Error', message: String(error.message || error) })
    }
  }
}

main()
