#include "zoo/net.h"
const zoo_parameter ZOO_SWITCH[] = {{0}};
void zoo_switch(builder *b, const zoo_arguments *a) { (void)b; (void)a; }
