--[[
rocev2.lua - a post-dissector for Wireshark and tshark: what the InfiniBand dissector does not say about RoCEv2.

Install: copy this file into the folder that "About Wireshark > Folders > Personal Lua Plugins" names, and press Ctrl+Shift+L; or
    tshark -X lua_script:rocev2.lua -r capture.pcapng -Y 'rocev2.icrc.status == "bad" || rocev2.analysis'
Needs Wireshark with Lua: `tshark -v | grep -i lua`. Tested with 4.0.17 (Lua 5.2.4).

Fields, all of them filters:
    rocev2.icrc.status        "good", "bad", or "rxe" for a FLUSH with the ICRC that Linux rdma_rxe wants of one
    rocev2.icrc.calculated    the ICRC as it should stand in the packet, comparable with infiniband.invariant.crc
    rocev2.opcode.name        name of the opcode, also of those Wireshark does not know (CNP, FLUSH, ATOMIC WRITE...)
    rocev2.fecn, rocev2.becn  congestion bits of the BTH
    rocev2.xrcsrq, rocev2.flush.placement, rocev2.flush.selectivity    headers that Wireshark shows as bytes
    rocev2.stream             number of the one-way stream: packets from one address to one queue pair of another
    rocev2.stream.reverse     that of the other direction, where the CM or the traffic has shown it
    rocev2.analysis           there when one of the following is:
        .retransmission       a PSN that has passed before, or one that was missing and was sent again
        .out_of_order         a PSN below one that has passed, never seen before and overtaken on the way
        .lost_segment         PSNs or responses before this one have not passed here (lost on the way, or not captured)
        .nak, .rnr_nak        NAKs and RNR NAKs, with their meaning
        .duplicate_ack        an ACK that says nothing new
        .implied_nak          a READ that asks again for the responses which later ones have shown to be missing

Owns the marks and nothing of a packet: it only reads. Frames are judged once, in the order of the capture, and the result is kept by frame
number; a new file or a reload starts anew. The fields of damaged packets are ignored. Marks follow from the capture alone, not from the state of the hosts.
For a full analysis use `roce analyze`; this is for the packet list.
Sources: ref:wire#2 to ref:wire#7 (layout, masks, opcodes, syndromes), ref:rxe#7 and ref:rxe#8 (which side retransmits), packets/icrc.ts, packets/opcode.ts.
]]

local rocev2 = Proto("rocev2", "RoCEv2 analysis")

rocev2.prefs.icrc = Pref.bool("Verify the ICRC", true, "Computes the invariant CRC of every packet, which costs most of the time")
rocev2.prefs.info = Pref.bool("Marks in the Info column", true, "Appends names of unknown opcodes and marks to the Info column")

-- Fields -------------------------------------------------------------------------------------------------------------------------

local fields = {
    icrc_status = ProtoField.string("rocev2.icrc.status", "ICRC status"),
    icrc_calculated = ProtoField.uint32("rocev2.icrc.calculated", "ICRC calculated", base.HEX),
    opcode_name = ProtoField.string("rocev2.opcode.name", "Opcode"),
    fecn = ProtoField.uint8("rocev2.fecn", "FECN", base.DEC),
    becn = ProtoField.uint8("rocev2.becn", "BECN", base.DEC),
    xrcsrq = ProtoField.uint32("rocev2.xrcsrq", "XRC SRQ", base.HEX),
    placement = ProtoField.uint8("rocev2.flush.placement", "Placement type", base.HEX),
    selectivity = ProtoField.uint8("rocev2.flush.selectivity", "Selectivity level", base.DEC),
    stream = ProtoField.uint32("rocev2.stream", "Stream index", base.DEC),
    reverse = ProtoField.uint32("rocev2.stream.reverse", "Stream index of the other direction", base.DEC),
    analysis = ProtoField.string("rocev2.analysis", "Analysis"),
}
rocev2.fields = fields

local function expert_field(name, text, severity)
    return ProtoExpert.new("rocev2.analysis." .. name, text, expert.group.SEQUENCE, severity)
end

local NOTE, WARN = expert.severity.NOTE, expert.severity.WARN
local experts = {
    retransmission = expert_field("retransmission", "Retransmission", NOTE),
    out_of_order = expert_field("out_of_order", "Out of order", WARN),
    lost_segment = expert_field("lost_segment", "Packets before this one are missing", WARN),
    nak = expert_field("nak", "NAK", WARN),
    rnr_nak = expert_field("rnr_nak", "RNR NAK", NOTE),
    duplicate_ack = expert_field("duplicate_ack", "Duplicate ACK", NOTE),
    implied_nak = expert_field("implied_nak", "Implied NAK: asks again for missing responses", WARN),
    icrc = ProtoExpert.new("rocev2.icrc.bad", "Wrong ICRC: a receiver drops the packet in silence", expert.group.CHECKSUM, expert.severity.ERROR),
}
local function values(of)
    local list = {}
    for _, value in pairs(of) do list[#list + 1] = value end
    return list
end
rocev2.experts = values(experts)

-- Positions come from the dissectors before this one, so that any link layer and any tunnel will do.
local bth_of, ip_of, ipv6_of, udp_of = Field.new("infiniband.bth"), Field.new("ip"), Field.new("ipv6"), Field.new("udp")
local interface_of = Field.new("frame.interface_id")

-- Opcodes ------------------------------------------------------------------------------------------------------------------------

local RC, UC, RD, UD, CNP, XRC = 0x00, 0x20, 0x40, 0x60, 0x80, 0xa0
local SERVICE_NAMES = { [RC] = "RC", [UC] = "UC", [RD] = "RD", [UD] = "UD", [CNP] = "CNP", [XRC] = "XRC" }
local CONNECTED, RELIABLE = { RC, UC, RD, XRC }, { RC, RD, XRC }

-- Operation: name, services, whether it is a request, and how a READ response or an ACK is recognized.
local OPERATIONS = {
    { 0x00, "SEND First", CONNECTED, "request" },
    { 0x01, "SEND Middle", CONNECTED, "request" },
    { 0x02, "SEND Last", CONNECTED, "request" },
    { 0x03, "SEND Last with Immediate", CONNECTED, "request" },
    { 0x04, "SEND Only", { RC, UC, RD, UD, XRC }, "request" },
    { 0x05, "SEND Only with Immediate", { RC, UC, RD, UD, XRC }, "request" },
    { 0x06, "RDMA WRITE First", CONNECTED, "request" },
    { 0x07, "RDMA WRITE Middle", CONNECTED, "request" },
    { 0x08, "RDMA WRITE Last", CONNECTED, "request" },
    { 0x09, "RDMA WRITE Last with Immediate", CONNECTED, "request" },
    { 0x0a, "RDMA WRITE Only", CONNECTED, "request" },
    { 0x0b, "RDMA WRITE Only with Immediate", CONNECTED, "request" },
    { 0x0c, "RDMA READ Request", RELIABLE, "read" },
    { 0x0d, "RDMA READ response First", RELIABLE, "response" },
    { 0x0e, "RDMA READ response Middle", RELIABLE, "response" },
    { 0x0f, "RDMA READ response Last", RELIABLE, "response", true },
    { 0x10, "RDMA READ response Only", RELIABLE, "response", true },
    { 0x11, "Acknowledge", RELIABLE, "ack" },
    { 0x12, "ATOMIC Acknowledge", RELIABLE, "response", true },
    { 0x13, "CmpSwap", RELIABLE, "atomic" },
    { 0x14, "FetchAdd", RELIABLE, "atomic" },
    { 0x15, "RESYNC", { RD }, "request" },
    { 0x16, "SEND Last with Invalidate", { RC, XRC }, "request" },
    { 0x17, "SEND Only with Invalidate", { RC, XRC }, "request" },
    { 0x1c, "FLUSH", { RC }, "atomic" },
    { 0x1d, "ATOMIC WRITE", { RC }, "atomic" },
    { 0x01, "", { CNP }, "cnp" },
}
local OPCODES = {}
for _, row in ipairs(OPERATIONS) do
    local operation, name, services, kind, last = row[1], row[2], row[3], row[4], row[5]
    for _, service in ipairs(services) do
        local full = (SERVICE_NAMES[service] .. " " .. name):gsub(" $", "")
        OPCODES[service + operation] = { name = full, kind = kind, last = last or false, service = service }
    end
end

-- Opcodes that Wireshark does not know: their names go into the Info column.
local UNNAMED = { [0x1c] = true, [0x1d] = true, [0x81] = true }

local NAKS = {
    [0] = "PSN sequence error",
    "invalid request",
    "remote access error",
    "remote operational error",
    "invalid RD request",
}

-- What the code means, in milliseconds: 0 is the longest.
local function rnr_ms(code)
    if code == 1 then return 0.01 end
    local step = code == 0 and 32 or code
    return step % 2 == 0 and 0.01 * 2 ^ (step / 2) or 0.015 * 2 ^ ((step - 1) / 2)
end

-- CRC-32 -------------------------------------------------------------------------------------------------------------------------

-- Lua 5.3 and later have operators, 5.2 a library, 5.1 (Wireshark before 2) the one that Wireshark brings.
local bxor, bxor3
if _VERSION >= "Lua 5.3" then
    bxor = load("return function(a, b) return a ~ b end")()
    bxor3 = load("return function(a, b, c) return a ~ b ~ c end")()
else
    bxor = bit32 and bit32.bxor or function(a, b) return bit.bxor(a, b) % 0x100000000 end
    bxor3 = bit32 and bit32.bxor or function(a, b, c) return bit.bxor(a, b, c) % 0x100000000 end
end

-- Two tables, by the lower and the upper half of a word: four bytes cost two look-ups.
local LOW, HIGH = {}, {}
do
    local by_byte = { [0] = {} }
    for n = 0, 255 do
        local crc = n
        for _ = 1, 8 do
            local half = math.floor(crc / 2)
            crc = crc % 2 == 1 and bxor(half, 0xedb88320) or half
        end
        by_byte[0][n] = crc
    end
    for k = 1, 3 do
        by_byte[k] = {}
        for n = 0, 255 do
            local crc = by_byte[k - 1][n]
            by_byte[k][n] = bxor(math.floor(crc / 256), by_byte[0][crc % 256])
        end
    end
    for n = 0, 65535 do
        local low, high = n % 256, math.floor(n / 256)
        LOW[n] = bxor(by_byte[3][low], by_byte[2][high])
        HIGH[n] = bxor(by_byte[1][low], by_byte[0][high])
    end
end

local byte, sub, floor = string.byte, string.sub, math.floor

-- The register after the bytes [from, to] of s. A call costs more than anything else here: sixteen bytes are fetched by one, and the next word
-- goes into the register with the same call that takes the last one out.
local function crc_update(crc, s, from, to)
    local at = from
    while at + 15 <= to do
        local a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p = byte(s, at, at + 15)
        crc = bxor(crc, a + b * 0x100 + c * 0x10000 + d * 0x1000000)
        local low = crc % 0x10000
        crc = bxor3(LOW[low], HIGH[(crc - low) / 0x10000], e + f * 0x100 + g * 0x10000 + h * 0x1000000)
        low = crc % 0x10000
        crc = bxor3(LOW[low], HIGH[(crc - low) / 0x10000], i + j * 0x100 + k * 0x10000 + l * 0x1000000)
        low = crc % 0x10000
        crc = bxor3(LOW[low], HIGH[(crc - low) / 0x10000], m + n * 0x100 + o * 0x10000 + p * 0x1000000)
        low = crc % 0x10000
        crc = bxor(LOW[low], HIGH[(crc - low) / 0x10000])
        at = at + 16
    end
    while at <= to do
        -- One byte, as if three zeros had come before it, which leave no trace.
        local index = bxor(crc % 0x100, byte(s, at))
        crc = bxor(floor(crc / 0x100), HIGH[index * 0x100])
        at = at + 1
    end
    return crc
end

-- After eight bytes of ones, in place of the local route header that RoCEv2 has not.
local ICRC_SEED = 0xdebb20e3

local function swapped(word)
    local a, b = word % 0x100, floor(word / 0x100) % 0x100
    local c, d = floor(word / 0x10000) % 0x100, floor(word / 0x1000000)
    return a * 0x1000000 + b * 0x10000 + c * 0x100 + d
end

-- The packet p begins with its IP header; bth is the index of the BTH, crc that of the ICRC. What routers may change counts as ones.
local function icrc_of(p, bth, at)
    local header
    if byte(p, 1) >= 0x60 then
        header = "\111\255\255\255" .. sub(p, 5, 7) .. "\255" .. sub(p, 9, bth - 3) .. "\255\255"
    else
        header = sub(p, 1, 1) .. "\255" .. sub(p, 3, 8) .. "\255" .. sub(p, 10, 10) .. "\255\255" .. sub(p, 13, bth - 3) .. "\255\255"
    end
    header = header .. sub(p, bth, bth + 3) .. "\255" .. sub(p, bth + 5, bth + 7)
    local crc = crc_update(ICRC_SEED, header, 1, #header)
    return bxor(crc_update(crc, p, bth + 8, at - 1), 0xffffffff)
end

-- rdma_rxe runs the CRC of a FLUSH over BTH and headers a second time (packets/rxe-flush-icrc.ts).
local function rxe_icrc_of(icrc, p, bth, at)
    return bxor(crc_update(bxor(icrc, 0xffffffff), p, bth, at - 1), 0xffffffff)
end

-- Streams ------------------------------------------------------------------------------------------------------------------------

local PSNS, HALF = 0x1000000, 0x800000
-- A step further than this is another connection, not a loss.
local FAR = 0x10000
-- So many missing PSNs are remembered one by one.
local MAX_MISSING = 4096
local MAX_READS = 256
-- A gap without a NAK that is filled later than this was filled by a timeout.
local TIMEOUT_SECONDS = 0.001
local MAX_CANDIDATES, MAX_TRIES = 64, 32

local streams, stream_count, between, requests_of_cm
-- Frames are judged in their order. Where they come in another, what was known of sequences counts no more: a new epoch begins.
local epoch, last_number
-- By frame number: the stream's index, the marks (only where there are any), the calculated ICRC.
local stream_at, marks_at, icrc_at, reverse_at

local function reset()
    streams, stream_count, between, requests_of_cm = {}, 0, {}, {}
    epoch, last_number = 0, 0
    stream_at, marks_at, icrc_at, reverse_at = {}, {}, {}, {}
end
reset()

-- a - b, the shorter way round.
local function distance(a, b)
    return (a - b + HALF) % PSNS - HALF
end

local function stream_of(place, src, dst, qpn)
    local key = place .. src .. dst .. "/" .. qpn
    local stream = streams[key]
    if stream == nil then
        stream = { index = stream_count, place = place, src = src, dst = dst, missing = {}, missing_count = 0, reads = {}, tries = 0, epoch = epoch }
        stream_count = stream_count + 1
        streams[key] = stream
        local pair = place .. src .. dst
        local list = between[pair] or {}
        between[pair] = list
        list[#list + 1] = stream
    elseif stream.epoch ~= epoch then
        stream.epoch, stream.next, stream.slack, stream.goback, stream.gap = epoch, nil, nil, nil, nil
        stream.missing, stream.missing_count, stream.reads = {}, 0, {}
        stream.ack_psn, stream.highest_response = nil, nil
    end
    return stream
end

local function pair_up(a, b)
    a.reverse, b.reverse = b, a
    local mtu = a.mtu or b.mtu
    a.mtu, b.mtu = mtu, mtu
end

-- A response belongs to the one stream of the other direction that has a request with its PSN.
local function find_reverse(stream, psn)
    if stream.reverse or stream.tries >= MAX_TRIES then return stream.reverse end
    local list = between[stream.place .. stream.dst .. stream.src]
    if list == nil or #list > MAX_CANDIDATES then return nil end
    stream.tries = stream.tries + 1
    local found
    for _, other in ipairs(list) do
        if other.reverse == nil and other.next and distance(psn, other.first) >= 0 and distance(psn, other.next + (other.slack or 0)) < 0 then
            if found then return nil end
            found = other
        end
    end
    if found then pair_up(stream, found) end
    return found
end

local function begin_at(stream, psn)
    stream.first, stream.next, stream.slack, stream.goback, stream.gap = psn, psn, nil, nil, nil
    stream.missing, stream.missing_count = {}, 0
    stream.reads = {}
end

local function add(marks, name, text)
    marks[#marks + 1] = { name, text }
end

-- How many PSNs a request takes, at least and at most: a READ as many as its response has packets.
local function span_of(stream, length)
    if length == nil or length == 0 then return 1, 1 end
    if stream.mtu then
        local packets = floor((length + stream.mtu - 1) / stream.mtu)
        return packets, packets
    end
    return floor((length + 4095) / 4096), floor((length + 255) / 256)
end

local function remember_missing(stream, from, count, now, id)
    if count > MAX_MISSING or stream.missing_count > 4 * MAX_MISSING then
        stream.missing, stream.missing_count = {}, 0
    end
    local gap = { since = now, id = id }
    for i = 0, math.min(count, MAX_MISSING) - 1 do
        stream.missing[(from + i) % PSNS] = gap
        stream.missing_count = stream.missing_count + 1
    end
end

-- Everything from this PSN on that was missing by now is going to be sent again.
local function go_back(stream, psn, now)
    stream.goback, stream.goback_time = psn, now
end

-- Whether what fills a gap was sent after what showed it. An IPv4 identification tells, for senders count it up; otherwise a NAK that has
-- asked for it does, or the time that has passed.
local function was_sent_again(stream, psn, gap, now, id)
    if id ~= 0 and gap.id ~= 0 and id ~= gap.id then return (id - gap.id) % 0x10000 < 0x8000 end
    local asked = stream.goback and distance(psn, stream.goback) >= 0 and gap.since <= stream.goback_time
    return asked or now - gap.since > TIMEOUT_SECONDS
end

-- A PSN below the next one: seen before, sent again, or overtaken.
local function judge_old(stream, psn, now, id, marks)
    local gap = stream.missing[psn]
    if gap == nil then
        add(marks, "retransmission", "Retransmission of PSN " .. psn)
    else
        stream.missing[psn] = nil
        stream.missing_count = stream.missing_count - 1
        if not was_sent_again(stream, psn, gap, now, id) then
            add(marks, "out_of_order", "PSN " .. psn .. " after higher ones")
            return
        end
        add(marks, "retransmission", "Retransmission of PSN " .. psn .. ", which had not passed here")
    end
    if stream.goback == nil or distance(psn, stream.goback) < 0 then go_back(stream, psn, now) end
end

local function take_request(stream, psn, least, most, now, id, marks)
    if stream.next == nil then begin_at(stream, psn) end
    local ahead = distance(psn, stream.next)
    if stream.slack and ahead > 0 and ahead <= stream.slack then
        -- The READ before had more responses than the longest packets would have made: this tells the length of one.
        ahead = 0
    end
    if ahead > FAR or ahead < -FAR then
        begin_at(stream, psn)
        ahead = 0
    end
    if ahead < 0 and distance(psn, stream.first) < 0 then
        -- From before the capture began.
        add(marks, "retransmission", "Retransmission of PSN " .. psn .. ", from before the first packet here")
        stream.first = psn
        return
    end
    if ahead < 0 then
        judge_old(stream, psn, now, id, marks)
        return
    end
    if ahead > 0 then
        add(marks, "lost_segment", ahead .. " packets before PSN " .. psn .. " are missing")
        remember_missing(stream, stream.next, ahead, now, id)
    end
    stream.next = (psn + least) % PSNS
    stream.slack = most > least and most - least or nil
end

-- Reads and atomics whose responses are awaited, in the order of their PSNs.
local function await_response(stream, psn, count)
    local reads = stream.reads
    for i = #reads, 1, -1 do
        if distance(reads[i].psn, psn) >= 0 then
            table.remove(reads, i)
        elseif reads[i].count and distance(reads[i].psn + reads[i].count, psn) > 0 then
            -- Asked for again in its middle: the rest comes with the new request.
            reads[i].count = distance(psn, reads[i].psn)
            if distance(reads[i].next, psn) >= 0 then table.remove(reads, i) end
        end
    end
    if #reads >= MAX_READS then table.remove(reads, 1) end
    reads[#reads + 1] = { psn = psn, next = psn, count = count }
end

-- Responses to this side's READs that were expected before one that has come.
local function missing_responses(requests, from, text, now, marks)
    add(marks, "lost_segment", text)
    if requests.gap == nil then requests.gap, requests.gap_time = from, now end
end

-- What arrives as an answer with this PSN, and which expected responses it shows to be missing. `last` is nil for an ACK.
local function take_response(stream, psn, last, now, marks)
    local requests = stream.reverse
    if requests == nil then return end
    local reads = requests.reads
    while #reads > 0 do
        local read = reads[1]
        local ahead = distance(psn, read.next)
        if ahead < 0 then return end
        if read.count and distance(psn, read.psn + read.count) >= 0 then
            missing_responses(requests, read.next, "The responses from PSN " .. read.next .. " on are missing", now, marks)
            table.remove(reads, 1)
        elseif last == nil then
            -- An ACK of something behind a READ whose length in packets is not known.
            return
        else
            if ahead > 0 then
                missing_responses(requests, read.next, ahead .. " responses before PSN " .. psn .. " are missing", now, marks)
            end
            read.next = (psn + 1) % PSNS
            if last then table.remove(reads, 1) end
            return
        end
    end
end

-- A READ that begins where responses are missing: there was no NAK, the gap implied one.
local function judge_repeated_read(stream, psn, now, marks)
    if stream.gap == nil or distance(psn, stream.gap) > 0 then return end
    if psn == stream.gap then
        local waited = (now - stream.gap_time) * 1000
        add(marks, "implied_nak", string.format("Implied NAK: the responses from PSN %d on again, %.3f ms after the gap", psn, waited))
    end
    stream.gap = nil
end

local function is_repeated_response(stream, psn)
    local highest = stream.highest_response
    if highest == nil or distance(psn, highest) > 0 or distance(psn, highest) < -FAR then
        stream.highest_response = psn
        return false
    end
    return true
end

local function take_ack(stream, p, at, psn, now, marks)
    local syndrome, a, b, c = byte(p, at, at + 3)
    if c == nil then return end
    local msn, code = a * 0x10000 + b * 0x100 + c, syndrome % 0x20
    local kind = floor(syndrome / 0x20) % 4
    local requests = find_reverse(stream, psn)
    if kind == 0 then
        local news = stream.ack_psn == nil or distance(psn, stream.ack_psn) > 0 or distance(psn, stream.ack_psn) < -FAR
        if not news and (psn ~= stream.ack_psn or (msn == stream.ack_msn and syndrome == stream.ack_syndrome)) then
            add(marks, "duplicate_ack", "Duplicate ACK of PSN " .. psn)
        end
        if news or psn == stream.ack_psn then
            stream.ack_psn, stream.ack_msn, stream.ack_syndrome = psn, msn, syndrome
        end
        take_response(stream, psn, nil, now, marks)
    elseif kind == 1 then
        add(marks, "rnr_nak", string.format("RNR NAK for PSN %d: not before %g ms", psn, rnr_ms(code)))
        if requests then go_back(requests, psn, now) end
    elseif kind == 3 then
        add(marks, "nak", "NAK for PSN " .. psn .. ": " .. (NAKS[code] or ("code " .. code)))
        if requests and code == 0 then go_back(requests, psn, now) end
    end
end

-- Connection management: which two streams are one connection, where their PSNs begin, how long their packets are.
local function u24(p, at)
    local a, b, c = byte(p, at, at + 2)
    return a * 0x10000 + b * 0x100 + c
end

local function take_mad(p, at, place, src, dst)
    if #p < at + 255 or byte(p, at + 1) ~= 7 or byte(p, at + 16) ~= 0 then return end
    local attribute, body = byte(p, at + 17), at + 24
    if attribute == 0x10 then
        local comm = sub(p, body, body + 3)
        local code = floor(byte(p, body + 50) / 16)
        local known = requests_of_cm[place .. src .. comm]
        local qpn, psn = u24(p, body + 32), u24(p, body + 44)
        if known and known.qpn == qpn and known.psn == psn then return end
        local mtu = code >= 1 and code <= 5 and 128 * 2 ^ code or nil
        requests_of_cm[place .. src .. comm] = { qpn = qpn, psn = psn, mtu = mtu }
    elseif attribute == 0x13 then
        local request = requests_of_cm[place .. dst .. sub(p, body + 4, body + 7)]
        if request == nil or request.answered then return end
        request.answered = true
        -- Each side names the PSN with which the other one begins.
        local to_server, to_client = stream_of(place, dst, src, u24(p, body + 12)), stream_of(place, src, dst, request.qpn)
        begin_at(to_client, request.psn)
        begin_at(to_server, u24(p, body + 20))
        to_client.mtu, to_server.mtu = request.mtu, request.mtu
        to_client.highest_response, to_server.highest_response, to_client.ack_psn, to_server.ack_psn = nil, nil, nil, nil
        pair_up(to_client, to_server)
    end
end

local function u32(p, at)
    local a, b, c, d = byte(p, at, at + 3)
    return ((a * 0x100 + b) * 0x100 + c) * 0x100 + d
end

-- Judges a packet once, in the order of the capture; the result is found by its number from then on.
local function judge(number, now, place, p, bth, at, src, dst)
    local opcode, psn, qpn = byte(p, bth), u24(p, bth + 9), u24(p, bth + 5)
    local info = OPCODES[opcode]
    local stream = stream_of(place, src, dst, qpn)
    stream_at[number] = stream.index
    if info == nil then return end
    local marks, headers = {}, bth + 12
    local high, low = byte(p, 5, 6)
    local id = byte(p, 1) < 0x60 and high * 0x100 + low or 0
    if info.service == UD then
        if qpn == 1 then take_mad(p, headers + 8, place, src, dst) end
    elseif info.service == RC or info.service == XRC or info.service == UC then
        local xrc = info.service == XRC and 4 or 0
        if info.kind == "ack" then
            take_ack(stream, p, headers, psn, now, marks)
        elseif info.kind == "response" then
            find_reverse(stream, psn)
            if is_repeated_response(stream, psn) then add(marks, "retransmission", "Response for PSN " .. psn .. " again") end
            take_response(stream, psn, info.last, now, marks)
        else
            local length = info.kind == "read" and at >= headers + xrc + 16 and u32(p, headers + xrc + 12) or nil
            local least, most = span_of(stream, length)
            take_request(stream, psn, least, most, now, id, marks)
            if info.kind == "read" or info.kind == "atomic" then
                if info.kind == "read" then judge_repeated_read(stream, psn, now, marks) end
                await_response(stream, psn, least == most and least or nil)
            end
        end
    end
    if stream.reverse then reverse_at[number] = stream.reverse.index end
    if #marks > 0 then marks_at[number] = marks end
end

-- The dissector ------------------------------------------------------------------------------------------------------------------

-- The packet from its IP header to its ICRC, the indices of BTH and ICRC in it, and its addresses; nil where it is not whole or not alone.
local function packet_of(tvb)
    local bth, second = bth_of()
    if bth == nil or second ~= nil then return nil end
    local udp, another = udp_of()
    if udp == nil or another ~= nil then return nil end
    local ip, inner = ip_of()
    local ipv6, inner6 = ipv6_of()
    if inner ~= nil or inner6 ~= nil or (ip == nil) == (ipv6 == nil) then return nil end
    local start = (ip or ipv6).offset
    local length = tvb(udp.offset + 4, 2):uint()
    local stop = udp.offset + length
    if stop > tvb:len() or length < 24 or bth.offset ~= udp.offset + 8 then return nil end
    -- Options, extension headers and fragments are not of RoCEv2, and in a reassembled packet offsets mean another buffer.
    if udp.offset - start ~= (ip and 20 or 40) or (ip and tvb(start + 6, 2):uint() % 0x4000 ~= 0) then return nil end
    local p = tvb:raw(start, stop - start)
    local src, dst
    if ip then
        src, dst = sub(p, 13, 16), sub(p, 17, 20)
    else
        src, dst = sub(p, 9, 24), sub(p, 25, 40)
    end
    return p, bth.offset - start + 1, #p - 3, src, dst, start
end

-- The calculated ICRC, computed once for each frame, and the status of the one in the packet.
local function icrc_status(p, bth, at, number)
    local calculated = icrc_at[number]
    if calculated == nil then
        calculated = swapped(icrc_of(p, bth, at))
        icrc_at[number] = calculated
    end
    local found = u32(p, at)
    if found == calculated then return "good", calculated end
    local rxe = byte(p, bth) == 0x1c and found == swapped(rxe_icrc_of(swapped(calculated), p, bth, at))
    return rxe and "rxe" or "bad", calculated
end

local function show_icrc(tree, range, status, calculated)
    local item = tree:add(fields.icrc_status, range, status)
    item:set_generated()
    tree:add(fields.icrc_calculated, range, calculated):set_generated()
    if status == "bad" then item:add_proto_expert_info(experts.icrc) end
end

local function show_headers(tree, tvb, p, bth, at, start)
    local opcode = byte(p, bth)
    local info = OPCODES[opcode]
    tree:add(fields.opcode_name, tvb(start + bth - 1, 1), info and info.name or string.format("Unknown (0x%02x)", opcode))
    local congestion, range = byte(p, bth + 4), tvb(start + bth + 3, 1)
    tree:add(fields.fecn, range, floor(congestion / 0x80))
    tree:add(fields.becn, range, floor(congestion / 0x40) % 2)
    if at < bth + 16 then return end
    local header = tvb(start + bth + 11, 4)
    if info and info.service == XRC and info.kind ~= "response" and info.kind ~= "ack" then
        tree:add(fields.xrcsrq, header, u24(p, bth + 13))
    elseif opcode == 0x1c then
        local low = byte(p, bth + 15)
        tree:add(fields.placement, header, low % 16)
        tree:add(fields.selectivity, header, floor(low / 16) % 4)
    end
end

local function show_analysis(tree, pinfo, number)
    if stream_at[number] then tree:add(fields.stream, stream_at[number]):set_generated() end
    if reverse_at[number] then tree:add(fields.reverse, reverse_at[number]):set_generated() end
    local marks = marks_at[number]
    if marks == nil then return end
    for _, mark in ipairs(marks) do
        local item = tree:add(fields.analysis, mark[1])
        item:set_generated()
        item:add_proto_expert_info(experts[mark[1]], mark[2])
        if rocev2.prefs.info then pinfo.cols.info:append(" [" .. mark[2] .. "]") end
    end
end

function rocev2.dissector(tvb, pinfo, tree)
    local number = pinfo.number
    local follows = number == last_number + 1 or not pinfo.visited
    last_number = number
    local p, bth, at, src, dst, start = packet_of(tvb)
    if p == nil then return end
    local status, calculated
    if rocev2.prefs.icrc then status, calculated = icrc_status(p, bth, at, number) end
    -- A receiver drops what is damaged before it looks at it; an ICRC of 0 was left to hardware.
    if stream_at[number] == nil and (status ~= "bad" or u32(p, at) == 0) then
        if not follows then epoch = epoch + 1 end
        local interface = interface_of()
        judge(number, pinfo.rel_ts, interface and interface.value or 0, p, bth, at, src, dst)
    end
    local subtree = tree:add(rocev2, tvb(start + bth - 1, at + 4 - bth))
    show_headers(subtree, tvb, p, bth, at, start)
    if status then show_icrc(subtree, tvb(start + at - 1, 4), status, calculated) end
    local opcode = byte(p, bth)
    if rocev2.prefs.info and UNNAMED[opcode] and OPCODES[opcode] then pinfo.cols.info:append(" [" .. OPCODES[opcode].name .. "]") end
    show_analysis(subtree, pinfo, number)
end

-- A new file, or the same one again.
function rocev2.init()
    reset()
end

register_postdissector(rocev2)

-- The graphical program shows frames in any order, after it has read all of them once; but it dissects fields in that first pass only when
-- a listener asks for all fields.
if gui_enabled() then
    local listener = Listener.new("frame", nil, true)
    function listener.packet() end
end
