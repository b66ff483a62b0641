// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx.h"

#include "core/base/cancel.h"
#include "core/base/file.h"
#include "core/base/leftovers.h"
#include "core/formats/onnxblocked.h"
#include "core/formats/onnxdiagnosis.h"
#include "core/formats/onnximport.h"
#include "core/formats/onnxrawdata.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtensor.h"
#include "core/formats/onnxtextforms.h"
#include "core/formats/stoppableinput.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>

#include <limits>

namespace retro::formats
{

using base::inputError;
using base::Result;
using base::within;
using google::protobuf::Arena;
using onnxschema::ModelProto;

namespace
{

constexpr int kMaxNesting = 100;    // messages inside messages; a nested graph takes three
constexpr int kProbeNesting = 1000; // only to tell "too deep" from "damaged"

enum class Decoded { Whole, Damaged, TooLarge };

Decoded decode(std::span<const std::byte> data, int nesting, google::protobuf::MessageLite& message, const Arena& arena,
               const std::stop_token& stop = {})
{
    StoppableInput pieces(data, stop, arena);
    google::protobuf::io::CodedInputStream stream(&pieces);
    stream.SetRecursionLimit(nesting);
    const bool isWhole = message.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
    return pieces.isTooLarge() ? Decoded::TooLarge : isWhole ? Decoded::Whole : Decoded::Damaged;
}

base::Error tooLarge()
{
    return inputError("its messages take far more memory than the file has bytes, as those of empty nodes or texts do; "
                      "this is no model that a program would write");
}

/// Where the decoded message lives. A model of 100,000 nodes is millions of small objects, whose end takes a tenth of a
/// second: after a stop it comes when the answer is out, else at once, because the weights are in there a second time.
class MessageRoom
{
public:
    explicit MessageRoom(const std::stop_token& stop) : m_stop(stop) {}
    ~MessageRoom()
    {
        if (m_stop.stop_requested()) {
            base::Leftovers::add(m_arena);
        }
    }
    MessageRoom(const MessageRoom&) = delete;
    MessageRoom& operator=(const MessageRoom&) = delete;
    [[nodiscard]] Arena& arena() { return *m_arena; }

private:
    const std::stop_token& m_stop;
    std::shared_ptr<Arena> m_arena = std::make_shared<Arena>();
};

Result<ModelProto*> decodeModel(std::span<const std::byte> data, Arena& arena, const std::stop_token& stop)
{
    if (data.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        return inputError("the file has 2 GiB or more, which no ONNX file can have; keep the weights in external data");
    }
    auto* model = Arena::CreateMessage<ModelProto>(&arena);
    const Decoded decoded = decode(data, kMaxNesting, *model, arena, stop);
    RETRO_CHECK(base::checkStop(stop));
    if (decoded == Decoded::Whole && model->has_graph()) {
        return model;
    }
    if (decoded == Decoded::TooLarge) {
        return tooLarge();
    }
    if (const TextForm form = textFormOf(data); form > TextForm::OtherJson) {
        model->Clear();
        RETRO_CHECK(parseTextModel(data, form, *model));
        return model;
    }
    if (!model->has_graph()) {
        return explainUnreadable(data);
    }
    Arena room;
    if (decode(data, kProbeNesting, *Arena::CreateMessage<ModelProto>(&room), room) == Decoded::Whole) {
        return inputError(
            "its messages are nested deeper than 100, which is as deep as is read (about 33 graphs inside "
            "each other)");
    }
    return explainUnreadable(data);
}

Result<std::shared_ptr<const graph::Graph>> import(ModelProto& model, const std::filesystem::path& folder,
                                                   const std::stop_token& stop, FileNotes* notes,
                                                   const ReadOptions& options, const OnnxRawData* rawData = nullptr)
{
    RETRO_TRY(graph::Graph graph, importModel(model, folder, stop, notes, options, rawData));
    return std::make_shared<const graph::Graph>(std::move(graph));
}

/// The error with the file before its place.
template <class T>
Result<T> in(const std::string& where, Result<T> result)
{
    return result.ok() ? std::move(result) : Result<T>(within(std::move(result).error(), where));
}

} // namespace

Result<std::shared_ptr<const graph::Graph>> parseOnnx(std::span<const std::byte> data, const std::string& where,
                                                      const std::filesystem::path& folder, const std::stop_token& stop,
                                                      FileNotes* notes, const ReadOptions& options)
{
    MessageRoom room(stop);
    const Result<ModelProto*> model = decodeModel(data, room.arena(), stop);
    return model.ok() ? in(where, import(**model, folder, stop, notes, options)) : base::within(model.error(), where);
}

Result<std::shared_ptr<const graph::Graph>> readOnnx(const std::filesystem::path& path, const std::stop_token& stop,
                                                     FileNotes* notes, const ReadOptions& options)
{
    RETRO_TRY(OnnxRawData data, OnnxRawData::open(path, kMaxOnnxBytes));
    RETRO_CHECK(base::checkStop(stop));
    auto room = std::make_unique<MessageRoom>(stop);
    Result<ModelProto*> model = decodeModel(data.message(), room->arena(), stop);
    // Weights in blocks are put in order in the message, and what is wrong is looked for in the whole file.
    if (data.leavesAny() && (!model || hasBlockedChannels(**model))) {
        RETRO_CHECK(base::checkStop(stop));
        room = std::make_unique<MessageRoom>(stop);
        RETRO_CHECK(data.readWhole());
        model = decodeModel(data.message(), room->arena(), stop);
    }
    if (!model) {
        return base::within(model.error(), path.string());
    }
    data.dropMessage(); // the decoded message holds a copy: give the bytes back before tensors are made
    return in(path.string(), import(**model, path.parent_path(), stop, notes, options, &data));
}

Result<tensor::Tensor> readTensorProto(const std::filesystem::path& path)
{
    RETRO_TRY(const std::vector<std::byte> data, base::readFile(path, kMaxOnnxBytes - 1));
    Arena room;
    auto& proto = *Arena::CreateMessage<onnxschema::TensorProto>(&room);
    const Decoded decoded = data.empty() ? Decoded::Damaged : decode(data, kMaxNesting, proto, room);
    if (decoded == Decoded::TooLarge) {
        return within(tooLarge(), path.string());
    }
    if (decoded == Decoded::Damaged) {
        return inputError("this is not an ONNX tensor (TensorProto), or it was cut off", path.string());
    }
    return in(path.string(), fromTensorProto(proto, path.parent_path()));
}

} // namespace retro::formats
