// SPDX-License-Identifier: Apache-2.0
#include "core/formats/memorysnapshot.h"

#include "core/base/failure.h"
#include "core/base/file.h"
#include "core/formats/picklemachine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

namespace retro::formats
{

namespace
{

using base::Result;

/// Most bytes that all events and segments name together, so that no sum of them overflows.
constexpr std::uint64_t kMaxNamedBytes = 1ULL << 62U;
/// Most frames of all stacks.
constexpr std::size_t kMaxFrames = 64'000'000;

/// What a stack takes beside its frames.
constexpr std::uint64_t kBytesOfStack = 96;

/// What dicts and lists of a snapshot become.
enum SnapshotKind : PickledKind {
    kEvent = kPickledOwn,
    kFrame,
    kStack,
    kBlock,
    kSegment,
    kTrace, ///< events, one after the other
    kDropped
};

struct StackHash
{
    std::size_t operator()(const std::vector<std::uint32_t>& stack) const
    {
        std::size_t hash = stack.size();
        for (const std::uint32_t frame : stack) {
            hash = (hash ^ frame) * 0x9E3779B97F4A7C15ULL;
            hash ^= hash >> 29U;
        }
        return hash;
    }
};

struct FrameKey
{
    std::uint32_t file = 0;
    std::uint32_t function = 0;
    std::int64_t line = 0;
    bool operator==(const FrameKey&) const = default;
};

struct FrameHash
{
    std::size_t operator()(const FrameKey& key) const
    {
        const std::uint64_t both = (std::uint64_t{key.file} << 32U) | key.function;
        return (both ^ static_cast<std::uint64_t>(key.line)) * 0x9E3779B97F4A7C15ULL;
    }
};

/// Keys that are looked for; their texts get these positions.
enum Key : std::int64_t {
    kAction,
    kAddr,
    kAddress,
    kBlocks,
    kDevice,
    kDeviceTraces,
    kFilename,
    kFrames,
    kLine,
    kName,
    kSegments,
    kSize,
    kState,
    kTimeUs,
    kTotalSize
};
constexpr std::array<std::string_view, 15> kKeys{"action",        "addr",     "address", "blocks",  "device",
                                                 "device_traces", "filename", "frames",  "line",    "name",
                                                 "segments",      "size",     "state",   "time_us", "total_size"};

/// Takes events and frames out of a snapshot as soon as they are whole.
class SnapshotReader final : public PickleMachine
{
public:
    explicit SnapshotReader(const base::FileReader& file) : PickleMachine(file)
    {
        for (const std::string_view key : kKeys) {
            textId(key);
        }
    }

    MemorySnapshot read() { return snapshotOf(run()); }

private:
    [[nodiscard]] bool grows(PickledKind kind) const override { return kind == kTrace || kind == kStack; }

    [[nodiscard]] bool isEvent(const PickledValue& value) const
    {
        return value.tag == PickledTag::Container && container(value).kind == kEvent;
    }

    [[nodiscard]] bool isEmptyList(const PickledContainer& given) const
    {
        return given.kind == kPickledList && m_contents[given.index].empty();
    }

    struct ItemCounts
    {
        std::size_t events = 0;
        std::size_t frames = 0;
    };

    /// What m_values are. Dicts that are put into a list are whole: they become what they are.
    ItemCounts settleItems()
    {
        ItemCounts counts;
        for (const PickledValue& value : m_values) {
            if (value.tag != PickledTag::Container) {
                continue;
            }
            if (container(value).kind == kPickledDict) {
                settle(container(value));
            }
            counts.events += container(value).kind == kEvent ? 1 : 0;
            counts.frames += container(value).kind == kFrame ? 1 : 0;
        }
        return counts;
    }

    /// True where m_values are events or frames, which a list does not keep as values.
    bool takesItems(std::uint32_t id) override
    {
        const auto [events, frames] = settleItems();
        const PickledKind kind = m_containers[id].kind;
        const bool isEmpty = isEmptyList(m_containers[id]);
        if ((events > 0 || kind == kTrace) && (events != m_values.size() || !(isEmpty || kind == kTrace))) {
            failPickle("a trace has something in it that is no event, or an event twice");
        }
        if (events > 0) {
            addEvents(id);
        } else if (frames == m_values.size() && frames > 0 && (isEmpty || kind == kStack)) {
            addFrames(id);
        } else if (kind == kStack && !m_values.empty()) {
            failPickle("a stack has something in it that is no frame");
        }
        return m_containers[id].kind != kPickledList;
    }

    void addFrames(std::uint32_t id)
    {
        m_framesOfStack.clear();
        if (m_containers[id].kind == kStack) {
            m_framesOfStack = *m_stacks[m_containers[id].index];
        } else {
            release(m_containers[id].index);
        }
        for (const PickledValue& value : m_values) {
            m_framesOfStack.push_back(container(value).index);
        }
        m_containers[id].kind = kStack;
        m_containers[id].index = stackId(m_framesOfStack);
    }

    void addEvents(std::uint32_t id)
    {
        if (m_containers[id].kind != kTrace) {
            release(m_containers[id].index);
            m_containers[id].kind = kTrace;
            m_containers[id].index = static_cast<std::uint32_t>(m_traces.size());
            m_traces.emplace_back();
        }
        std::vector<AllocatorEvent>& trace = m_traces[m_containers[id].index];
        for (const PickledValue& value : m_values) {
            if (!isEvent(value)) {
                failPickle("an event stands twice in a trace");
            }
            trace.push_back(m_events[container(value).index]);
            container(value).kind = kDropped;
        }
        m_events.clear(); // each is in its trace
    }

    [[nodiscard]] static const PickledValue* find(const std::vector<PickledValue>& dict, Key key)
    {
        for (std::size_t i = 0; i + 1 < dict.size(); i += 2) {
            if (dict[i].tag == PickledTag::Text && dict[i].number == key) {
                return &dict[i + 1];
            }
        }
        return nullptr;
    }

    [[nodiscard]] static std::uint64_t numberAt(const std::vector<PickledValue>& dict, Key key)
    {
        const PickledValue* value = find(dict, key);
        return value != nullptr && (value->tag == PickledTag::Number || value->tag == PickledTag::Real)
                   ? static_cast<std::uint64_t>(value->number)
                   : 0;
    }

    std::uint64_t sizeAt(const std::vector<PickledValue>& dict, Key key)
    {
        const std::uint64_t size = numberAt(dict, key);
        if (size > kMaxNamedBytes - m_named) {
            failPickle("its sizes together are larger than any memory");
        }
        m_named += size;
        return size;
    }

    [[nodiscard]] std::uint32_t textAt(const std::vector<PickledValue>& dict, Key key)
    {
        const PickledValue* value = find(dict, key);
        return value != nullptr && value->tag == PickledTag::Text ? static_cast<std::uint32_t>(value->number)
                                                                  : static_cast<std::uint32_t>(textId(""));
    }

    void settle(PickledContainer& dict)
    {
        const std::uint32_t contents = dict.index;
        const std::vector<PickledValue>& values = m_contents[contents];
        if (find(values, kAction) != nullptr) {
            const AllocatorEvent event = eventOf(values);
            dict.kind = kEvent;
            dict.index = static_cast<std::uint32_t>(m_events.size());
            m_events.push_back(event);
        } else if (find(values, kFilename) != nullptr && find(values, kLine) != nullptr) {
            dict.index = frameOf(values);
            dict.kind = kFrame;
        } else if (find(values, kBlocks) != nullptr) {
            dict.index = segmentOf(values);
            dict.kind = kSegment;
        } else if (find(values, kState) != nullptr && find(values, kSize) != nullptr) {
            SnapshotBlock block;
            block.address = numberAt(values, kAddress);
            block.size = sizeAt(values, kSize);
            block.stack = stackAt(values);
            const std::string& state = m_texts[textAt(values, kState)];
            block.isActive = state.starts_with("active");
            dict.index = static_cast<std::uint32_t>(m_blocks.size());
            dict.kind = kBlock;
            m_blocks.push_back(block);
        } else {
            return; // something else, which stays as it is
        }
        release(contents);
    }

    AllocatorEvent eventOf(const std::vector<PickledValue>& values)
    {
        AllocatorEvent event;
        event.address = numberAt(values, kAddr);
        event.size = sizeAt(values, kSize);
        event.time = static_cast<std::int64_t>(numberAt(values, kTimeUs));
        event.action = actionAt(values);
        event.stack = stackAt(values);
        return event;
    }

    AllocatorAction actionAt(const std::vector<PickledValue>& values)
    {
        static constexpr std::array<std::pair<std::string_view, AllocatorAction>, 8> kActions{
            std::pair{"alloc", AllocatorAction::Alloc},
            std::pair{"free_requested", AllocatorAction::FreeRequested},
            std::pair{"free_completed", AllocatorAction::FreeCompleted},
            std::pair{"free", AllocatorAction::FreeCompleted},
            std::pair{"segment_alloc", AllocatorAction::SegmentAlloc},
            std::pair{"segment_map", AllocatorAction::SegmentAlloc},
            std::pair{"segment_free", AllocatorAction::SegmentFree},
            std::pair{"segment_unmap", AllocatorAction::SegmentFree}};
        const std::string& name = m_texts[textAt(values, kAction)];
        const auto* known = std::ranges::find(kActions, name, [](const auto& one) { return one.first; });
        return known == kActions.end() ? AllocatorAction::Other : known->second;
    }

    std::uint32_t frameOf(const std::vector<PickledValue>& values)
    {
        const FrameKey key{textAt(values, kFilename), textAt(values, kName),
                           static_cast<std::int64_t>(numberAt(values, kLine))};
        const auto [at, isNew] = m_frameIds.try_emplace(key, static_cast<std::uint32_t>(m_found.frames.size()));
        if (isNew) {
            m_found.frames.push_back({key.file, key.function, key.line});
        }
        return at->second;
    }

    /// The list of frames of an event or block.
    std::uint32_t stackAt(const std::vector<PickledValue>& values)
    {
        const PickledValue* value = find(values, kFrames);
        if (value == nullptr || value->tag != PickledTag::Container) {
            return kNoStack;
        }
        const PickledContainer& list = container(*value);
        if (list.kind == kStack) {
            return list.index;
        }
        return kNoStack;
    }

    std::uint32_t stackId(const std::vector<std::uint32_t>& frames)
    {
        const auto [at, isNew] = m_stackIds.try_emplace(frames, static_cast<std::uint32_t>(m_stacks.size()));
        if (isNew) {
            m_stacks.push_back(&at->first); // a map keeps its keys where they are
            m_stackFrames += frames.size();
            claim(kBytesOfStack + frames.size() * sizeof(std::uint32_t));
        }
        if (m_stackFrames > kMaxFrames) {
            failPickle("its stacks have too many frames");
        }
        return at->second;
    }

    std::uint32_t segmentOf(const std::vector<PickledValue>& values)
    {
        SnapshotSegment segment;
        segment.device = static_cast<std::int64_t>(numberAt(values, kDevice));
        segment.address = numberAt(values, kAddress);
        segment.bytes = sizeAt(values, kTotalSize);
        const PickledValue* blocks = find(values, kBlocks);
        std::uint64_t address = segment.address;
        if (blocks->tag == PickledTag::Container && container(*blocks).kind == kDropped) {
            failPickle("two segments have the same blocks");
        }
        if (blocks->tag == PickledTag::Container && container(*blocks).kind == kPickledList) {
            for (const PickledValue& item : m_contents[container(*blocks).index]) {
                if (item.tag != PickledTag::Container || container(item).kind != kBlock) {
                    continue;
                }
                SnapshotBlock block = m_blocks[container(item).index];
                block.address = block.address == 0 ? address : block.address; // older versions leave it out
                address = block.address + block.size;
                segment.blocks.push_back(block);
                container(item).kind = kDropped;
            }
            release(container(*blocks).index);
            container(*blocks).kind = kDropped;
        }
        m_found.segments.push_back(std::move(segment));
        return static_cast<std::uint32_t>(m_found.segments.size() - 1);
    }

    MemorySnapshot snapshotOf(const PickledValue& root)
    {
        const bool isDict = root.tag == PickledTag::Container && container(root).kind == kPickledDict;
        const bool isList = root.tag == PickledTag::Container && container(root).kind == kPickledList;
        if (isDict) {
            const std::vector<PickledValue>& members = m_contents[container(root).index];
            if (find(members, kSegments) == nullptr && find(members, kDeviceTraces) == nullptr) {
                failPickle("it is no memory snapshot: it has neither segments nor device_traces");
            }
            takeTraces(find(members, kDeviceTraces));
        } else if (!isList || m_found.segments.empty()) { // older versions wrote the segments alone
            failPickle("it is no memory snapshot: torch.cuda.memory._dump_snapshot writes a dict");
        }
        m_found.texts.assign(std::make_move_iterator(m_texts.begin()), std::make_move_iterator(m_texts.end()));
        for (const std::vector<std::uint32_t>* frames : m_stacks) {
            m_found.stacks.push_back(*frames);
        }
        return std::move(m_found);
    }

    void takeTraces(const PickledValue* traces)
    {
        if (traces == nullptr || traces->tag != PickledTag::Container || container(*traces).kind != kPickledList) {
            return;
        }
        for (const PickledValue& item : m_contents[container(*traces).index]) {
            const bool isTrace = item.tag == PickledTag::Container && container(item).kind == kTrace;
            m_found.traces.push_back(isTrace ? std::move(m_traces[container(item).index])
                                             : std::vector<AllocatorEvent>());
        }
    }

    std::unordered_map<FrameKey, std::uint32_t, FrameHash> m_frameIds;
    std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, StackHash> m_stackIds;
    std::vector<const std::vector<std::uint32_t>*> m_stacks; ///< keys of m_stackIds, by id
    std::size_t m_stackFrames = 0;                           ///< in all of them
    std::uint64_t m_named = 0;                               ///< bytes that events, blocks and segments name
    std::vector<std::uint32_t> m_framesOfStack;
    std::vector<AllocatorEvent> m_events; ///< those that no trace has taken yet
    std::vector<SnapshotBlock> m_blocks;
    std::vector<std::vector<AllocatorEvent>> m_traces;
    MemorySnapshot m_found;
};

} // namespace

bool looksLikePickle(const std::filesystem::path& path)
{
    const Result<base::FileReader> file = base::FileReader::open(path, kMaxSnapshotBytes);
    std::array<std::byte, 2> head{};
    return file.ok() && file->size() >= head.size() && file->read(0, head).ok() && head[0] == std::byte{0x80} &&
           head[1] <= std::byte{5} && head[1] >= std::byte{2};
}

Result<MemorySnapshot> readMemorySnapshot(const std::filesystem::path& path)
{
    RETRO_TRY(const base::FileReader file, base::FileReader::open(path, kMaxSnapshotBytes));
    SnapshotReader reader(file);
    Result<MemorySnapshot> read = base::caught([&]() -> Result<MemorySnapshot> { return reader.read(); });
    if (!read.ok() && read.error().code == base::ErrorCode::Input) {
        return base::within(base::within(read.error(), fmt::format("at byte {}", reader.position())), path.string());
    }
    return read;
}

} // namespace retro::formats
