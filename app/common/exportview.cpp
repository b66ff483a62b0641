// SPDX-License-Identifier: Apache-2.0
#include "app/common/exportview.h"

#include "app/common/exports.h"
#include "app/common/guiapplication.h"
#include "core/trace/timeline.h"
#include "views/common/paint/theme.h"

#include <QCoreApplication>

#include <fmt/ranges.h>

#include <algorithm>

namespace retro::app
{

namespace
{

using base::Result;

Result<const Export*> findView(const std::string& name)
{
    const Export* part = findPart(name);
    if (part == nullptr || part->run->view.make == nullptr) {
        std::vector<std::string_view> names;
        for (const Export* one : runParts()) {
            if (one->run->view.make != nullptr) {
                names.push_back(one->name);
            }
        }
        return base::usageError(fmt::format("there is no view '{}'; choose one of: {}", name, fmt::join(names, ", ")),
                                "export");
    }
    return part;
}

/// Puts the theme back that was chosen before.
class ThemeGuard
{
public:
    ThemeGuard() : m_before(views::ThemeHub::instance().choice()) {}
    static void use(bool isDark)
    {
        views::ThemeHub::instance().setChoice(isDark ? views::ThemeChoice::Dark : views::ThemeChoice::Light);
    }
    ~ThemeGuard() { views::ThemeHub::instance().setChoice(m_before); }
    ThemeGuard(const ThemeGuard&) = delete;
    ThemeGuard& operator=(const ThemeGuard&) = delete;

private:
    views::ThemeChoice m_before;
};

/// What has been posted to a widget and those inside it, and to nobody else: a window may be open.
void deliverPosted(QWidget& widget)
{
    QCoreApplication::sendPostedEvents(&widget);
    for (QWidget* child : widget.findChildren<QWidget*>()) {
        QCoreApplication::sendPostedEvents(child);
    }
}

Result<void> write(ViewStage& stage, const ViewRequest& request, const std::filesystem::path& path)
{
    RETRO_TRY(const Export* part, findView(request.view));
    RETRO_CHECK(checkEnding(part->name, endingsOfRun(*part), path));
    const DrawnView& chosen = part->run->view;
    ThemeGuard::use(request.isDark);
    const std::uint64_t end = stage.model.run().eventCount();
    stage.cursor.moveTo(std::min(request.position.value_or(end), end));
    const std::unique_ptr<views::View> view = chosen.make(stage);
    view->resize(request.width > 0 ? request.width : chosen.width, request.height > 0 ? request.height : chosen.height);
    view->setAttribute(Qt::WA_DontShowOnScreen);
    view->show();
    view->flush();
    deliverPosted(*view); // the layout of the body
    return view->exportTo(path);
}

} // namespace

Result<void> exportView(const std::shared_ptr<const trace::Run>& run, const std::filesystem::path& path,
                        const ViewRequest& request)
{
    RETRO_CHECK(findView(request.view)); // before anything is opened
    ensureGuiApplication();
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(run));
    const ViewFile file{request, path};
    return exportViews({run, std::make_shared<trace::Timeline>(std::move(timeline))}, {&file, 1}).front();
}

std::vector<Result<void>> exportViews(const views::RunHandle& run, std::span<const ViewFile> files)
{
    ensureGuiApplication();
    const ThemeGuard guard;
    ViewStage stage;
    stage.model.setRun(run);
    std::vector<Result<void>> results;
    for (const ViewFile& file : files) {
        results.push_back(write(stage, file.request, file.path));
    }
    return results;
}

} // namespace retro::app
