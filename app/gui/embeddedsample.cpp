// SPDX-License-Identifier: Apache-2.0
#include "app/gui/embeddedsample.h"

#include <QFile>

/// The resource is in a static library, where nothing registers it by itself. The macro needs the global namespace.
static void registerSample() { Q_INIT_RESOURCE(sample); }

namespace retro::app
{

namespace
{

constexpr const char* kFolder = ":/samples/clever-hans";

base::Result<QByteArray> resource(const std::string& name)
{
    registerSample();
    QFile file(QString::fromStdString(std::string(kFolder) + "/" + name));
    if (!file.open(QIODevice::ReadOnly)) {
        return base::Error{base::ErrorCode::Bug, "the built-in sample has no file '" + name + "'", kFolder};
    }
    return file.readAll();
}

base::Result<engine::LoadedModelPointer> loadResource(const std::string& name)
{
    RETRO_TRY(const QByteArray model, resource(name));
    RETRO_TRY(const QByteArray card, resource(std::filesystem::path(name).stem().string() + ".card.json"));
    const auto bytes = std::as_bytes(std::span(model.constData(), static_cast<std::size_t>(model.size())));
    return engine::parseModel(bytes, std::filesystem::path(kFolder) / name, card.toStdString());
}

} // namespace

base::Result<engine::LoadedModelPointer> loadEmbeddedSample() { return loadResource("clever-hans.onnx"); }

base::Result<engine::LoadedModelPointer> loadControl(const engine::LoadedModel& model)
{
    return isEmbedded(model) ? loadResource(model.card->control)
                             : engine::loadModel(model.path.parent_path() / model.card->control);
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
    registerSample();
    return QString::fromLatin1(kFolder) + QStringLiteral("/jug-tagged.png");
}

bool isEmbedded(const engine::LoadedModel& model) { return model.path.string().starts_with(kFolder); }

} // namespace retro::app
