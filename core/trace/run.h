// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::trace
{

using base::HandleId;
using base::NodeId;
using base::PromiseId;
using base::StepId;
using base::ValueId;
using event::Event;
using tensor::Tensor;

/// Type, shape and size of the tensor behind a handle; kept even when the tensor itself was dropped.
struct HandleInfo
{
    tensor::DType dtype = tensor::DType::Float32;
    tensor::Shape shape;
    std::int64_t bytes = 0;
    double sum = 0; ///< Σ of the elements, for captions and edge widths
};

/// The rule that a node had in a run, in words.
struct NodeRule
{
    std::string rule;        ///< "epsilon 1e-06"
    std::string matcher;     ///< what chose it
    std::string structure{}; ///< what the operator is (ops::nameOf of its StructureKind): "linear map"; may be empty
};

/// How people read the input of a run: what its model's card says of it, and how pixels became numbers.
struct InputFacts
{
    // Limits of a run file; whoever fills this keeps to them.
    static constexpr std::size_t kMostBytes = 4096; ///< of every text
    static constexpr std::size_t kMostChannels = 4096;
    static constexpr std::size_t kMostWords = 65'536;

    std::string kind = "array";            ///< "image" or "array"
    std::string file;                      ///< where it came from, without folder; may be empty
    std::string layout = "NCHW";           ///< NCHW, NHWC, NTC or NT
    std::string channels = "RGB";          ///< RGB, BGR or GRAY
    std::array<double, 2> scale{0, 1};     ///< values of a black and a white pixel, before mean and deviation
    std::vector<double> mean;              ///< per channel; may be empty
    std::vector<double> deviation;         ///< per channel, above 0; may be empty
    std::string preparedBy;                ///< who said so: "card", "option" or "default"; empty = nobody knows
    std::vector<std::string> words;        ///< of a text, one per token; else empty
    std::string trueClass;                 ///< may be empty
    std::optional<std::array<int, 4>> tag; ///< box of a tag: x, y, width, height in the model's pixels
    bool operator==(const InputFacts&) const = default;
};

/// Where the data of an input came from.
struct SourceFacts
{
    std::string source; ///< as --input says it, a file with its whole path: "/data/jug.png", "mask=/data/mask.npy"
    std::string digest; ///< of the file's bytes (base::Hasher128); empty = there is no file, or nobody knows
    bool operator==(const SourceFacts&) const = default;
};

/// How a forward value got to the rules that read it.
enum class ForwardedForm : std::uint8_t {
    Store,   ///< kept as it is
    Rebuild, ///< computed again from what was kept
    Alias,   ///< it lies in the memory of another value that was kept
    Compress ///< the signs and winners that its readers look at
};
/// "store", "rebuild", "alias", "compress".
[[nodiscard]] std::string_view nameOf(ForwardedForm form);
/// The form of that name; nothing for other texts.
[[nodiscard]] std::optional<ForwardedForm> forwardedForm(std::string_view name);

/// What became of a forward value between the forward pass and the rules that read it.
struct ForwardedValue
{
    ValueId value;
    ForwardedForm form = ForwardedForm::Store;
    std::int64_t bytes = 0;  ///< of the value
    std::int64_t kept = 0;   ///< that it took between the passes
    bool isFallback = false; ///< not as wished for; the reason says why
    std::string reason;      ///< of an alias, whose memory it is
    bool operator==(const ForwardedValue&) const = default;
};

/// What was explained, in words and numbers.
struct RunFacts
{
    std::string kind = "explain"; ///< which use case
    std::string modelName;
    std::string modelPath;   ///< the whole path that it was read from; may be empty, as in files before version 14
    std::string modelDigest; ///< of its graph and weights (graph::contentDigest); empty = nobody knows
    std::string composite;
    std::string engine;    ///< "promise", "oracle"
    std::string save;      ///< "autograd", "all"
    std::string precision; ///< "float32", "float64"
    std::string start;     ///< "logit", "one", …
    ValueId targetValue;
    std::vector<std::int64_t> targetIndex; ///< per sample
    std::vector<double> targetLogit;       ///< per sample
    std::map<std::string, double> numbers; ///< relevance_start, relevance_inputs, seconds …
    std::vector<std::string> labels;       ///< class names, may be empty
    std::string title;                     ///< what the model's card says of it in one line; may be empty
    std::string scores;                    ///< what the card says of the outputs' meaning; may be empty
    std::string region;     ///< of which the ends of relevance were asked; empty = of none (numbers: "region …")
    std::string conditions; ///< what relevance had to pass; empty = nothing
    std::vector<std::string> planTries; ///< planners in the order of their Candidate events; may be empty
    std::vector<std::string> planTiers; ///< by the numbers in Move and Fetch events; may be empty
    std::vector<ForwardedValue>
        forwarded;                   ///< of a pass whose forward values came in chosen forms, by value; else empty
    std::optional<InputFacts> input; ///< none: nobody knows (files before version 3)
    std::vector<SourceFacts> sources;
};

/// A place in a run that a person wants to find again.
struct Bookmark
{
    std::uint64_t position = 0; ///< number of events applied
    std::string text;
    bool operator==(const Bookmark&) const = default;
};

struct Profile;

/// A finished (or stopped) run: immutable, shared between threads. One time axis: events numbered from 0 (StepId),
/// grouped into visits.
struct Run
{
    std::shared_ptr<const graph::Graph> graph;
    RunFacts facts;
    std::vector<Event> events;
    std::vector<event::LedgerEntry> ledger;
    /// First event of each visit: its Visit event, or the first Pop or Dequeue of the pick that led to it
    /// (firstEventOfPick). Events before the first visit (start of the run) belong to none.
    std::vector<std::uint64_t> visitStart;
    std::vector<HandleInfo> handles; ///< by HandleId
    std::vector<Tensor> tensors;     ///< by HandleId; invalid when dropped or not recorded
    std::vector<Tensor>
        values; ///< forward values by ValueId, as far as they were kept; graph inputs and outputs always
    std::vector<NodeRule> rules;       ///< by NodeId (operators only)
    std::vector<tensor::Shape> shapes; ///< concrete shape of every value, by ValueId
    std::vector<Bookmark> bookmarks;
    std::shared_ptr<const Profile> profile; ///< what the pass spent (core/trace/profile.h); null: nobody took it

    [[nodiscard]] std::uint64_t eventCount() const { return events.size(); }
    [[nodiscard]] std::uint32_t visitCount() const { return static_cast<std::uint32_t>(visitStart.size()); }
    /// Visit that an event belongs to; 0 for events before the first visit.
    [[nodiscard]] std::uint32_t visitOf(std::uint64_t step) const;
    /// Number of events applied when visit `visit` is complete (= first event of the next visit, or the end).
    [[nodiscard]] std::uint64_t endOfVisit(std::uint32_t visit) const;
};

/// First event of the visit whose Visit event is at `visitStep`: the pops and dequeues just before it that carry the
/// same visit number belong to it.
[[nodiscard]] std::uint64_t firstEventOfPick(std::span<const Event> events, std::uint64_t visitStep);

} // namespace retro::trace
