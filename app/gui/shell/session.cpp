// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/session.h"

#include "app/gui/embeddedsample.h"

#include <QFileInfo>
#include <QSettings>

namespace retro::app
{

namespace
{
const QString kSessionGroup = QStringLiteral("session/");
} // namespace

bool Session::canResume() const { return !isEmpty() && (isEmbeddedPath(path) || QFileInfo::exists(path)); }

Session readSession(const QSettings& store)
{
    const auto text = [&store](const char* name) {
        return store.value(kSessionGroup + QLatin1String(name)).toString();
    };
    const auto texts = [&store](const char* name) {
        return store.value(kSessionGroup + QLatin1String(name)).toStringList();
    };
    Session session;
    session.path = text("path");
    session.inputs = texts("inputs");
    session.targets = texts("targets");
    session.start = text("start");
    session.composite = text("composite");
    session.rules = texts("rules");
    session.texts = texts("texts");
    session.workspace = text("workspace");
    session.position = store.value(kSessionGroup + QStringLiteral("position"), 0).toULongLong();
    session.node = text("node");
    return session;
}

void writeSession(QSettings& store, const Session& session)
{
    const auto put = [&store](const char* name, const QVariant& value) {
        store.setValue(kSessionGroup + QLatin1String(name), value);
    };
    put("path", session.path);
    put("inputs", session.inputs);
    put("targets", session.targets);
    put("start", session.start);
    put("composite", session.composite);
    put("rules", session.rules);
    put("texts", session.texts);
    put("workspace", session.workspace);
    put("position", session.position);
    put("node", session.node);
}

} // namespace retro::app
