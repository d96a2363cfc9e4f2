#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A locale other than UTF-8 gets plain ASCII; without a locale, the terminal is assumed to read UTF-8. */
static bool wants_ascii(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return !strstr(value, "UTF-8") && !strstr(value, "utf8") && !strstr(value, "UTF8") &&
                   !strstr(value, "utf-8");
    }
    return false;
}

void fit_terminal(sooth_report_options *options)
{
    if (!isatty(STDOUT_FILENO))
        return;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    options->colors = !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
    options->ascii = wants_ascii();
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        options->columns = size.ws_col;
}
