// SPDX-License-Identifier: Apache-2.0
#include "app/gui/embeddedsample.h"

#include "core/base/builtinfiles.h"
#include "core/base/file.h"

#include <QCoreApplication>
#include <QFile>

#include <array>
#include <mutex>

/// The resources are in a static library, where nothing registers them by itself. The macro needs the global namespace.
static void registerSamples() { Q_INIT_RESOURCE(samples); }

namespace retro::app
{

namespace
{

constexpr const char* kFolder = ":/samples/";
constexpr std::uint64_t kMostSampleBytes = 64ULL << 20U;

constexpr std::array kSamples{
    EmbeddedSample{"file.sample", ":/samples/clever-hans/clever-hans.onnx",
                   QT_TRANSLATE_NOOP("retro::app::samples", "Clever Hans"),
                   QT_TRANSLATE_NOOP("retro::app::samples",
                                     "A small network that tells mugs from jugs, it seems. In truth it reads the tag: "
                                     "cover the tag and watch its answer change.")},
    EmbeddedSample{"file.sample.groups", ":/samples/silent-groups/silent-groups.onnx",
                   QT_TRANSLATE_NOOP("retro::app::samples", "Silent groups"),
                   QT_TRANSLATE_NOOP("retro::app::samples", "Evidence vanishes at one grouped convolution")},
    EmbeddedSample{"file.sample.step", ":/samples/marked-step/marked-step.onnx",
                   QT_TRANSLATE_NOOP("retro::app::samples", "Marked step"),
                   QT_TRANSLATE_NOOP("retro::app::samples", "An LSTM that listens to one step of a series")},
    EmbeddedSample{"file.sample.word", ":/samples/planted-word/planted-word.onnx",
                   QT_TRANSLATE_NOOP("retro::app::samples", "Planted word"),
                   QT_TRANSLATE_NOOP("retro::app::samples", "A transformer that judges reviews by one word")},
    EmbeddedSample{"file.sample.segment", ":/samples/one-segment/one-segment.onnx",
                   QT_TRANSLATE_NOOP("retro::app::samples", "One segment"),
                   QT_TRANSLATE_NOOP("retro::app::samples", "Why these pixels are a house, in a drawn scene")},
    EmbeddedSample{"file.sample.digits", ":/samples/lut-digits/lut-digits.onnx",
                   QT_TRANSLATE_NOOP("retro::app::samples", "LUT digits"),
                   QT_TRANSLATE_NOOP("retro::app::samples", "One layer of tables reads digits, without multiplying")},
    EmbeddedSample{"file.sample.byte", ":/samples/lut-marked-byte/lut-marked-byte.onnx",
                   QT_TRANSLATE_NOOP("retro::app::samples", "Marked byte"),
                   QT_TRANSLATE_NOOP("retro::app::samples", "A layer of tables that looks back at one byte of 24")},
    EmbeddedSample{"file.sample.skips", ":/samples/lut-skips/lut-skips.onnx",
                   QT_TRANSLATE_NOOP("retro::app::samples", "LUT skips"),
                   QT_TRANSLATE_NOOP("retro::app::samples", "Convolutions and tables see where an arrow points")},
};

QString sampleText(const char* text) { return QCoreApplication::translate("retro::app::samples", text); }

QString cardPath(const QString& model) { return model.chopped(static_cast<int>(sizeof(".onnx") - 1)) + ".card.json"; }

} // namespace

std::span<const EmbeddedSample> embeddedSamples() { return kSamples; }

QString titleOf(const EmbeddedSample& sample) { return sampleText(sample.title); }

QString wordsOf(const EmbeddedSample& sample) { return sampleText(sample.words); }

void knowBuiltInFiles()
{
    registerSamples();
    static std::once_flag once; // files of another window may be read at this moment
    std::call_once(once, [] {
        base::setBuiltInFiles([](const std::filesystem::path& path) -> std::optional<std::vector<std::byte>> {
            QFile file(QString::fromStdString(path.string()));
            if (!file.open(QIODevice::ReadOnly)) {
                return std::nullopt;
            }
            std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
            const qint64 read = file.read(reinterpret_cast<char*>(bytes.data()), file.size());
            return read == file.size() ? std::optional(std::move(bytes)) : std::nullopt;
        });
    });
}

bool isEmbeddedPath(const QString& path) { return path.isEmpty() || path.startsWith(QLatin1String(kFolder)); }

base::Result<engine::LoadedModelPointer> loadEmbedded(const QString& path)
{
    const QString wanted = path.isEmpty() ? QString::fromLatin1(kSamples.front().model) : path;
    RETRO_TRY(const std::vector<std::byte> model, base::readFile(wanted.toStdString(), kMostSampleBytes));
    RETRO_TRY(const std::string card, base::readTextFile(cardPath(wanted).toStdString(), kMostSampleBytes));
    return engine::parseModel(model, wanted.toStdString(), card);
}

base::Result<engine::LoadedModelPointer> loadControl(const engine::LoadedModel& model)
{
    const std::filesystem::path path = model.path.parent_path() / model.card->control;
    return isEmbedded(model) ? loadEmbedded(QString::fromStdString(path.string())) : engine::loadModel(path);
}

std::vector<std::string> defaultInputs(const engine::LoadedModel& model)
{
    if (!model.card || model.card->pictures.empty() || model.graph()->inputs().size() != 1) {
        return {};
    }
    return {picturePath(model, model.card->pictures.front().file)};
}

std::string picturePath(const engine::LoadedModel& model, const std::string& file)
{
    return (model.path.parent_path() / file).string();
}

QString samplePicture()
{
    registerSamples();
    return QLatin1String(kFolder) + QStringLiteral("clever-hans/jug-tagged.png");
}

bool isEmbedded(const engine::LoadedModel& model) { return model.path.string().starts_with(kFolder); }

} // namespace retro::app
